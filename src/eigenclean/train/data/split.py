"""Samples set apart, class by class."""

import numpy as np

from eigenclean.arrays import Array, Bools, ClassRows, encode_labels
from eigenclean.errors import InvalidOption


def held_out(labels: Array, fraction: float, random_state: int = 0) -> Bools:
    """A mask of the samples to set apart: that share of every class, drawn at random.

    Every class keeps at least one sample to learn from. Whoever makes labels wrong on purpose splits by the right
    labels first, and then spoils both parts.

    >>> held_out(np.array([0, 0, 0, 0, 1, 1]), 0.5).sum()
    np.int64(3)
    """
    if not 0 <= fraction < 1:
        raise InvalidOption(f"split: fraction must be from 0 to below 1, got {fraction}")
    classes, codes = encode_labels(labels)
    rng = np.random.default_rng(random_state)
    groups, mask = ClassRows.of(codes, len(classes)), np.zeros(len(labels), dtype=bool)
    for k in range(len(classes)):
        rows = rng.permutation(groups[k])
        mask[rows[: min(round(fraction * len(rows)), len(rows) - 1)]] = True
    return mask
