"""Symmetric noise: wrong labels are uniform over the classes."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.noise.base import RatedNoise
from eigenclean.noise.draw import rows_independent, rows_overall


@dataclass(frozen=True)
class Symmetric(RatedNoise):
    """A share of the labels is redrawn uniformly.

    Attributes:
        rate: share p of labels that are redrawn.
        inclusive: draw from all K classes, so that p(K-1)/K of the labels end up wrong (as ELR, FINE and
            DivideMix do); else from the K-1 others, so that p do (as Co-teaching and CORES² do).
        exact: redraw exactly p·n labels; else each with probability p.

    >>> codes = np.zeros(1000, dtype=np.intp)
    >>> noisy = Symmetric(0.4, inclusive=False).apply(codes, np.arange(10), np.random.default_rng(0))
    >>> int(np.count_nonzero(noisy))
    400
    """

    inclusive: bool = True
    exact: bool = True

    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows."""
        choose = rows_overall if self.exact else rows_independent
        rows = np.flatnonzero(choose(len(codes), self.rate, rng))
        noisy = codes.copy()
        if self.inclusive:
            noisy[rows] = rng.integers(len(classes), size=len(rows))
        else:
            noisy[rows] = (codes[rows] + rng.integers(1, len(classes), size=len(rows))) % len(classes)
        return noisy
