"""Pair noise: labels are flipped to the next class."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.noise.base import RatedNoise
from eigenclean.noise.draw import rows_independent, rows_per_class


@dataclass(frozen=True)
class Pair(RatedNoise):
    """A share of each class is given the label of the next class; the last class that of the first.

    Attributes:
        rate: share p of labels that end up wrong.
        exact: exactly p of each class; else each label with probability p.

    >>> Pair(1.0).apply(np.array([0, 1, 2]), np.array(["a", "b", "c"]), np.random.default_rng(0))
    array([1, 2, 0])
    """

    exact: bool = True

    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows."""
        if self.exact:
            chosen = rows_per_class(codes, len(classes), self.rate, rng)
        else:
            chosen = rows_independent(len(codes), self.rate, rng)
        return (codes + chosen) % len(classes)
