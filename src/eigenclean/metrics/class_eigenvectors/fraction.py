"""How many samples are needed to estimate the first eigenvector of a class (figure 3d)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.errors import InvalidOption
from eigenclean.metrics.class_eigenvectors.class_features import ClassFeatures
from eigenclean.metrics.record import Record
from eigenclean.moments import top_eigenpair
from eigenclean.seeds import tagged_generator

FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class FractionCurve(Record):
    """|⟨u, û⟩|, where û comes from a random share of the class.

    Attributes:
        classes: K labels.
        fractions: F shares.
        cosine: F, means over classes and draws.
        low, high: F, the smallest and the largest.
        sizes: F, samples that were taken, on average over the classes.
        by_class: F x K, means over draws.
    """

    classes: Array
    fractions: Float64s
    cosine: Float64s
    low: Float64s
    high: Float64s
    sizes: Float64s
    by_class: Float64s


def fraction_curve(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    fractions: Sequence[float] = FRACTIONS,
    draws: int = 5,
    random_state: int = 0,
) -> FractionCurve:
    """Compare eigenvectors of random subsets of each class with that of the whole class.

    A subset has max(⌈share · n⌉, 2) samples, drawn without replacement, as in ``FINE(subset=...)``.

    >>> rng = np.random.default_rng(0)
    >>> curve = fraction_curve(1 + 0.1 * rng.standard_normal((300, 8)), [0] * 300, fractions=[0.01, 1.0])
    >>> curve.cosine.round(3)
    array([0.998, 1.   ])
    """
    by = "fraction_curve"
    if not fractions or not all(0 < share <= 1 for share in fractions):
        raise InvalidOption(f"{by}: fractions must be above 0 and at most 1, got {list(fractions)}")
    if draws < 1:
        raise InvalidOption(f"{by}: draws must be at least 1, got {draws}")
    data = ClassFeatures.of(features, labels, by=by)
    rng = tagged_generator(random_state, "fractions")
    cosines = np.empty((len(fractions), draws, len(data)))
    sizes: Ints = np.empty((len(fractions), len(data)), dtype=np.intp)
    for k, (block, _) in enumerate(data):
        n, u = len(block), top_eigenpair(block)[1]
        sizes[:, k] = [min(n, max(2, int(np.ceil(share * n)))) for share in fractions]
        for f, size in enumerate(sizes[:, k].tolist()):
            for draw in range(draws):
                sample = np.sort(rng.choice(n, size, replace=False))
                cosines[f, draw, k] = abs(u @ top_eigenpair(block[sample])[1])
    extremes = cosines.min(axis=(1, 2)), cosines.max(axis=(1, 2))
    shares, mean = np.array(fractions, dtype=np.float64), cosines.mean(axis=(1, 2))
    return FractionCurve(data.names, shares, mean, *extremes, sizes.mean(axis=1), cosines.mean(axis=1))
