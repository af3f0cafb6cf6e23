"""Synthetic features and scores whose difficulty is that of real ones."""

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints, row_chunks
from eigenclean.noise import add_noise

_DIRECTIONS = 32  # in which all classes vary
_SPREAD = np.float32(2.5)  # of the noise, where the means of the classes have spread 1


def noisy_features(rows: int, columns: int, classes: int, seed: int = 0, draw: int = 0) -> tuple[Array, Ints]:
    """Features like those of a network's last layer, in float32, and labels of which 20 % were drawn anew.

    A feature is the positive part of its class's mean, plus a few directions in which all classes vary, plus noise.
    Strengths are such that the spectrum of a class, and so the work of finding its vector, is that of real
    features: the second eigenvalue is about a tenth of the first. Rows are in no order; another ``draw`` has other
    rows of the same classes.

    >>> X, y = noisy_features(100, 8, classes=3)
    >>> X.shape, X.dtype, float(X.min()), y.shape
    ((100, 8), dtype('float32'), 0.0, (100,))
    """
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((classes, columns), dtype=np.float32)
    directions = rng.standard_normal((_DIRECTIONS, columns), dtype=np.float32)
    directions /= np.sqrt(np.arange(1, _DIRECTIONS + 1, dtype=np.float32))[:, None]
    if draw:
        rng = np.random.default_rng([seed, draw])
    truth = rng.integers(classes, size=rows)
    features = rng.standard_normal((rows, columns), dtype=np.float32)
    for chunk in row_chunks(rows, features.itemsize * columns):
        block = features[chunk]
        block *= _SPREAD
        block += rng.standard_normal((len(block), _DIRECTIONS), dtype=np.float32) @ directions
        block += means[truth[chunk]]
        np.maximum(block, 0.0, out=block)
    labels: Ints = add_noise(truth, "symmetric", 0.2, random_state=rng, classes=np.arange(classes))
    return features, labels


def noisy_scores(classes: int, each: int, seed: int = 0) -> tuple[Float64s, Ints]:
    """Alignments of ``classes`` classes, a fifth of each from a lower and broader bump, in no order."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(classes), each))
    centre = rng.uniform(0.75, 0.85, size=classes)[groups]
    wrong = rng.random(len(groups)) < 0.2
    noise = rng.standard_normal(len(groups))
    return np.where(wrong, centre - 0.25 + 0.06 * noise, centre + 0.04 * noise), groups
