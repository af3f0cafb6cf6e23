"""The base of all noise models, and the vectorised random choices that they share."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools, ClassRows, Float64s, Ints
from eigenclean.errors import InvalidOption


@dataclass(frozen=True)
class Noise(ABC):
    """A noise model as a value: it prints, compares and hashes by its options.

    A new kind of noise is one subclass in one file and one line in `NOISES`; its fields are its options.
    """

    @property
    def name(self) -> str:
        """Name in the `NOISES` table."""
        return type(self).__name__.lower()

    @property
    def nominal_rate(self) -> float | None:
        """The requested noise rate; None for noise without such an option."""
        return None

    @abstractmethod
    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows; ``codes`` is not changed.

        Args:
            codes: the right class of each row, as its position in ``classes``.
            classes: all classes, at least two.
            rng: the source of all randomness.
            features: one row per label, for noise that depends on the sample.
        """


@dataclass(frozen=True)
class RatedNoise(Noise):
    """A noise model with a rate: the share of labels to corrupt. Each kind documents how many become wrong."""

    rate: float = 0.2

    def __post_init__(self) -> None:
        check_share(self.rate, by=self.name, what="rate")

    @property
    def nominal_rate(self) -> float | None:
        """The requested noise rate."""
        return float(self.rate)


def check_share(value: Any, *, by: str, what: str) -> None:
    """Raise `InvalidOption` unless ``value`` is a number from 0 to 1.

    >>> check_share(1.5, by="symmetric", what="rate")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: symmetric noise: rate must be a number from 0 to 1, got 1.5
    """
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1:
        raise InvalidOption(f"{by} noise: {what} must be a number from 0 to 1, got {value!r}")


def rows_overall(n_rows: int, rate: float, rng: np.random.Generator) -> Bools:
    """Exactly ``rate`` of all rows (rounded), chosen at random."""
    chosen = np.zeros(n_rows, dtype=bool)
    chosen[rng.permutation(n_rows)[: round(rate * n_rows)]] = True
    return chosen


def rows_per_class(codes: Ints, n_classes: int, rate: float, rng: np.random.Generator) -> Bools:
    """Exactly ``rate`` of each class (rounded), chosen at random."""
    quota = np.rint(rate * np.bincount(codes, minlength=n_classes))
    return np.asarray(shuffled_rank(codes, n_classes, rng) < quota[codes])


def rows_independent(n_rows: int, rate: float, rng: np.random.Generator) -> Bools:
    """Each row with probability ``rate``, independently of the others."""
    return rng.random(n_rows) < rate


def shuffled_rank(codes: Ints, n_classes: int, rng: np.random.Generator) -> Ints:
    """Rank of each row in a random order of its class, from 0.

    >>> rank = shuffled_rank(np.array([0, 1, 0, 0]), 2, np.random.default_rng(0))
    >>> sorted(rank[[0, 2, 3]].tolist()), int(rank[1])
    ([0, 1, 2], 0)
    """
    shuffle = rng.permutation(len(codes))
    rows = ClassRows.of(codes[shuffle], n_classes)
    rank = np.empty(len(codes), dtype=np.intp)
    rank[shuffle[rows.order]] = np.arange(len(codes)) - np.repeat(rows.starts[:-1], rows.counts)
    return rank


def pick_columns(weights: Array, quantiles: Float64s) -> Ints:
    """For each row of non-negative ``weights``, the column at the quantile (in [0, 1)) of its distribution.

    With uniform quantiles, columns are drawn in proportion to their weights: inverse transform sampling.

    >>> pick_columns(np.array([[1.0, 0.0, 3.0]] * 3), quantiles=np.array([0.0, 0.25, 0.999]))
    array([0, 2, 2])
    """
    cumulative = np.cumsum(weights, axis=1, dtype=np.float64)
    cumulative /= cumulative[:, -1:]  # the last positive column ends at exactly 1, above every quantile
    return np.asarray(np.argmax(cumulative > quantiles[:, None], axis=1), dtype=np.intp)
