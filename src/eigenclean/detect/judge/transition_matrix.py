"""The transition matrix T[right, given] = P(given label | right label), estimated from expected counts."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from eigenclean.arrays import Float64s

# Pseudo-counts per class and entry, distributed as symmetric noise of the overall rate: T has K² entries, and most
# of them are rarely observed.
_PRIOR = 1.0


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Expected numbers of labels for pairs (right class, given class), sparse; counts of disjoint data add up.

    Attributes:
        keys: the pairs as right·K + given, sorted.
        counts: one number per pair.

    >>> first = PairCounts(np.array([1, 5]), np.array([2.0, 3.0]))
    >>> second = PairCounts(np.array([5, 7]), np.array([1.0, 1.0]))
    >>> (first + second).counts
    array([2., 4., 1.])
    """

    keys: NDArray[np.int64]
    counts: Float64s

    @classmethod
    def empty(cls) -> "PairCounts":
        """No pairs."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0))

    def __iadd__(self, other: "PairCounts") -> "PairCounts":
        if self.keys is other.keys:
            np.add(self.counts, other.counts, out=self.counts)
            return self
        return self + other

    def __add__(self, other: "PairCounts") -> "PairCounts":
        if self.keys is other.keys or np.array_equal(self.keys, other.keys):
            return PairCounts(self.keys, self.counts + other.counts)
        keys, index = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.bincount(index, np.concatenate([self.counts, other.counts]), len(keys))
        return PairCounts(keys, counts.astype(np.float64, copy=False))


@lru_cache(maxsize=2)
def all_pair_keys(k: int) -> NDArray[np.int64]:
    """The keys of all pairs of ``k`` classes; the same read-only array every time, so that ``is`` compares it."""
    keys = np.arange(k * k)
    keys.setflags(write=False)
    return keys


@dataclass(frozen=True, eq=False)
class TransitionMatrix:
    """T[right, given] = (count + prior) / (total + prior), stored sparsely as the observed counts.

    Attributes:
        keys: the observed pairs as right·K + given, sorted.
        counts: expected number of labels of each pair.
        totals: expected number of samples of each right class, K.
        prior_rate: noise rate of the symmetric prior.
    """

    keys: NDArray[np.int64]
    counts: Float64s
    totals: Float64s
    prior_rate: float

    @classmethod
    def symmetric(cls, k: int, rate: float) -> "TransitionMatrix":
        """Symmetric noise: a share ``rate`` of the labels is drawn uniformly from all classes."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(k), rate)

    @classmethod
    def from_counts(cls, pairs: PairCounts, k: int) -> "TransitionMatrix":
        """Estimate from expected counts; the prior is symmetric noise of the same overall rate."""
        keys, counts = pairs.keys, pairs.counts
        right, given = np.divmod(keys, k)
        unchanged = counts[right == given].sum() / max(counts.sum(), 1e-300)
        rate = min(max((1.0 - unchanged) * k / max(k - 1, 1), 0.0), 1.0)
        return cls(keys, counts, np.bincount(right, counts, k).astype(np.float64), rate)

    def at(self, keys: NDArray[np.int64]) -> Float64s:
        """The entries of T for these pairs."""
        k = len(self.totals)
        right, given = np.divmod(keys, k)
        prior = np.where(right == given, 1.0 - self.prior_rate, 0.0) + self.prior_rate / k
        same_keys = keys is self.keys or len(keys) == len(self.keys) == k * k
        counts = self.counts if same_keys else self._counts_at(keys)
        return np.asarray((counts + _PRIOR * k * prior) / (self.totals[right] + _PRIOR * k))

    def _counts_at(self, keys: NDArray[np.int64]) -> Float64s:
        if len(self.keys) == 0:
            return np.zeros(len(keys))
        index = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[index] == keys, self.counts[index], 0.0)

    def to_dense(self) -> Float64s:
        """T as a new K x K array."""
        return self.dense.copy()

    @cached_property
    def dense(self) -> Float64s:
        """T as a K x K array, computed once and shared: not to be changed."""
        k = len(self.totals)
        return self.at(all_pair_keys(k)).reshape(k, k)

    @property
    def noise_rate(self) -> float:
        """Share of the labels that are wrong."""
        right, given = np.divmod(self.keys, max(len(self.totals), 1))
        return float(self.counts[right != given].sum()) / max(float(self.totals.sum()), 1e-300)

    @property
    def asymmetry(self) -> float:
        """Share of the labels that went to favoured wrong classes, beyond symmetric noise and chance.

        If K - 1 counts differ by chance only, those above the mean exceed it by 0.4 standard deviations per count.
        """
        k = len(self.totals)
        right, given = np.divmod(self.keys, k)
        off_diagonal = right != given
        wrong = np.bincount(right[off_diagonal], self.counts[off_diagonal], k)
        uniform = wrong / max(k - 1, 1)
        excess = np.maximum(self.counts[off_diagonal] - uniform[right[off_diagonal]], 0.0).sum()
        by_chance = 0.4 * (k - 1) * np.sqrt(uniform).sum()
        return max(float(excess - by_chance), 0.0) / max(float(self.totals.sum()), 1e-300)

    @property
    def breadth(self) -> float:
        """Median off-diagonal rate divided by the mean one: near 0 if errors occur between few pairs only."""
        k = len(self.totals)
        right, given = np.divmod(self.keys, k)
        off_diagonal = right != given
        rates = self.counts[off_diagonal] / np.maximum(self.totals[right[off_diagonal]], 1e-300)
        unobserved = k * (k - 1) - len(rates)
        median = np.median(np.concatenate([rates, np.zeros(unobserved)])) if unobserved < len(rates) else 0.0
        return float(median) * k * (k - 1) / max(float(rates.sum()), 1e-300)
