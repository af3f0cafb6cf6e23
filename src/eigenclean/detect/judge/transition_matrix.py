"""How right labels turn into given ones: a K x K matrix of rates, kept as the counts behind it."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from eigenclean.arrays import Float64s

_PRIOR = 1.0  # pseudo-counts per class and entry, spread as symmetric noise of the overall rate: T has K² entries


@dataclass(frozen=True, eq=False)
class Pairs:
    """Expected numbers of labels for pairs of classes; those of two parts of the data add up.

    Attributes:
        keys: pairs as right·K + given, sorted.
        counts: one a pair.

    >>> (Pairs(np.array([1, 5]), np.array([2.0, 3.0])) + Pairs(np.array([5, 7]), np.array([1.0, 1.0]))).counts
    array([2., 4., 1.])
    """

    keys: NDArray[np.int64]
    counts: Float64s

    @classmethod
    def none(cls) -> "Pairs":
        """No pairs at all."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0))

    def __iadd__(self, other: "Pairs") -> "Pairs":
        if self.keys is other.keys:
            np.add(self.counts, other.counts, out=self.counts)
            return self
        return self + other

    def __add__(self, other: "Pairs") -> "Pairs":
        if self.keys is other.keys or np.array_equal(self.keys, other.keys):
            return Pairs(self.keys, self.counts + other.counts)
        keys, place = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([self.counts, other.counts]), len(keys))
        return Pairs(keys, counts.astype(np.float64, copy=False))


@lru_cache(maxsize=2)
def all_pairs(k: int) -> NDArray[np.int64]:
    """The keys of all pairs of ``k`` classes."""
    keys = np.arange(k * k)
    keys.setflags(write=False)
    return keys


@dataclass(frozen=True, eq=False)
class Transition:
    """T[right, given] = (count + prior) / (total + prior), for the pairs of classes that were ever seen.

    Attributes:
        keys: pairs as right·K + given, sorted.
        counts: expected number of labels of each pair.
        totals: expected number of samples of each right class, K.
        rate: symmetric noise rate of the prior.
    """

    keys: NDArray[np.int64]
    counts: Float64s
    totals: Float64s
    rate: float

    @classmethod
    def symmetric(cls, k: int, rate: float) -> "Transition":
        """Labels are wrong at that rate, towards any class."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(k), rate)

    @classmethod
    def counted(cls, pairs: Pairs, k: int) -> "Transition":
        """From expected counts; the prior is symmetric noise of the same overall rate."""
        keys, counts = pairs.keys, pairs.counts
        right, given = np.divmod(keys, k)
        kept = counts[right == given].sum() / max(counts.sum(), 1e-300)
        rate = min(max((1.0 - kept) * k / max(k - 1, 1), 0.0), 1.0)
        return cls(keys, counts, np.bincount(right, counts, k).astype(np.float64), rate)

    def at(self, keys: NDArray[np.int64]) -> Float64s:
        """T of these pairs."""
        k = len(self.totals)
        right, given = np.divmod(keys, k)
        prior = np.where(right == given, 1.0 - self.rate, 0.0) + self.rate / k
        known = keys is self.keys or len(keys) == len(self.keys) == k * k
        counts = self.counts if known else self._look_up(keys)
        return np.asarray((counts + _PRIOR * k * prior) / (self.totals[right] + _PRIOR * k))

    def _look_up(self, keys: NDArray[np.int64]) -> Float64s:
        if len(self.keys) == 0:
            return np.zeros(len(keys))
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, self.counts[place], 0.0)

    def matrix(self) -> Float64s:
        """K x K."""
        return self.square.copy()

    @cached_property
    def square(self) -> Float64s:
        """The same, computed once and not to be changed."""
        k = len(self.totals)
        return self.at(all_pairs(k)).reshape(k, k)

    @property
    def noise_rate(self) -> float:
        """Share of the labels that are wrong."""
        right, given = np.divmod(self.keys, max(len(self.totals), 1))
        return float(self.counts[right != given].sum()) / max(float(self.totals.sum()), 1e-300)

    @property
    def structure(self) -> float:
        """Share of the labels that went to favoured classes, beyond symmetric noise and what chance would show.

        Of C counts that differ by chance alone, those above the mean exceed it by 0.4 standard deviations a count.
        """
        k = len(self.totals)
        right, given = np.divmod(self.keys, k)
        off = right != given
        wrong = np.bincount(right[off], self.counts[off], k)
        even = wrong / max(k - 1, 1)
        excess = np.maximum(self.counts[off] - even[right[off]], 0.0).sum()
        by_chance = 0.4 * (k - 1) * np.sqrt(even).sum()
        return max(float(excess - by_chance), 0.0) / max(float(self.totals.sum()), 1e-300)

    @property
    def breadth(self) -> float:
        """How many kinds of errors there are: median rate of a wrong class over the mean; 0 for a bare rule."""
        k = len(self.totals)
        right, given = np.divmod(self.keys, k)
        off = right != given
        rates = self.counts[off] / np.maximum(self.totals[right[off]], 1e-300)
        unseen = k * (k - 1) - len(rates)
        median = np.median(np.concatenate([rates, np.zeros(unseen)])) if unseen < len(rates) else 0.0
        return float(median) * k * (k - 1) / max(float(rates.sum()), 1e-300)
