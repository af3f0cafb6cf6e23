"""The transition matrix T[right, given] = P(given label | right label), estimated from expected counts.

T has K² entries, and most transitions are rare. Its prior is hierarchical: the rates of the classes are Beta
distributed around the overall rate, and the errors of a class are distributed over the wrong classes by a Dirichlet
distribution around the uniform one. How strong both are, in units of errors, is estimated from the counts by their
marginal likelihood (empirical Bayes): T has structure only where the counts have it.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from eigenclean.arrays import Float64s, Ints

# Strengths of the prior that are compared, in errors; under the last one all rates are equal.
STRENGTHS = (0.3, 1.0, 3.0, 6.0, 10.0, 20.0, 40.0, 80.0, 160.0, 1e4)
_TINY_ERRORS, _SMALL_START = 1e-3, 0.05
_FACTORS = 32  # of a product of numbers up to 1e6 that stays finite
_MIN_RATE = 1e-4  # of the prior: with a rate of 0 a class could never be seen to have errors


@dataclass(frozen=True, eq=False)
class PairLayout:
    """Which pairs (right class, given class) are counted, and what is needed of them for every new count.

    Attributes:
        keys: the pairs as right·K + given, sorted.
        n_classes: K.
    """

    keys: NDArray[np.int64]
    n_classes: int

    @cached_property
    def right(self) -> Ints:
        """The right class of each pair."""
        return np.asarray(self.keys // self.n_classes)

    @cached_property
    def sizes(self) -> Ints:
        """The number of pairs of each right class."""
        return np.bincount(self.right, minlength=self.n_classes)

    @cached_property
    def same(self) -> Ints:
        """Which pairs have twice the same class."""
        return np.flatnonzero(self.keys == self.right * (self.n_classes + 1))

    @cached_property
    def wrong(self) -> Ints:
        """Which pairs have different classes."""
        is_wrong = np.ones(len(self.keys), dtype=bool)
        is_wrong[self.same] = False
        return np.flatnonzero(is_wrong)

    @cached_property
    def wrong_keys(self) -> NDArray[np.int64]:
        """The keys of the pairs of different classes."""
        return self.keys[self.wrong]

    @cached_property
    def wrong_right(self) -> Ints:
        """The right class of the pairs of different classes."""
        return np.asarray(self.right[self.wrong])


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Expected numbers of labels for pairs (right class, given class), sparse; counts of disjoint data add up.

    Attributes:
        keys: the pairs as right·K + given, sorted.
        counts: one number per pair.
        layout: of the keys, if it is known.

    >>> first = PairCounts(np.array([1, 5]), np.array([2.0, 3.0]))
    >>> second = PairCounts(np.array([5, 7]), np.array([1.0, 1.0]))
    >>> (first + second).counts
    array([2., 4., 1.])
    """

    keys: NDArray[np.int64]
    counts: Float64s
    layout: PairLayout | None = None

    def __getstate__(self) -> dict[str, Any]:
        layout = self.layout
        is_complete = layout is not None and layout.keys is self.keys and len(self.keys) == layout.n_classes**2
        if layout is not None and is_complete:  # cheaper to compute again than to send
            return {"n_classes": layout.n_classes, "counts": self.counts}
        return {"keys": self.keys, "counts": self.counts, "layout": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "n_classes" in state:
            layout = all_pairs(state["n_classes"])
            state = {"keys": layout.keys, "counts": state["counts"], "layout": layout}
        self.__dict__.update(state)

    @classmethod
    def empty(cls) -> "PairCounts":
        """A matrix without any observed pair of classes."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0))

    def __iadd__(self, other: "PairCounts") -> "PairCounts":
        if self.keys is other.keys:
            np.add(self.counts, other.counts, out=self.counts)
            return self
        return self + other

    def __add__(self, other: "PairCounts") -> "PairCounts":
        if self.keys is other.keys or np.array_equal(self.keys, other.keys):
            return PairCounts(self.keys, self.counts + other.counts, self.layout)
        keys, index = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.bincount(index, np.concatenate([self.counts, other.counts]), len(keys))
        return PairCounts(keys, counts.astype(np.float64, copy=False))


@lru_cache(maxsize=2)
def all_pairs(k: int) -> PairLayout:
    """All pairs of ``k`` classes; the same read-only keys every time, so that ``is`` compares them."""
    keys = np.arange(k * k)
    keys.setflags(write=False)
    return PairLayout(keys, k)


class Strengths(NamedTuple):
    """How strong the prior of T is, in units of errors.

    Attributes:
        rates: of the Beta distribution of the rates of the classes.
        targets: of the Dirichlet distribution of the classes that errors go to.
    """

    rates: float = STRENGTHS[-1]
    targets: float = STRENGTHS[-1]


STRONGEST, WEAKEST = Strengths(), Strengths(STRENGTHS[0], STRENGTHS[0])


@dataclass(frozen=True, eq=False)
class TransitionMatrix:
    """The posterior mean of T, given expected counts; stored sparsely.

    Attributes:
        keys: the observed pairs of different classes as right·K + given, sorted.
        errors: expected number of labels of each of these pairs.
        totals: expected number of samples of each right class, K.
        rate: the overall noise rate, around which those of the classes vary.
        strengths: of the prior.
        pairs: the counts that it was estimated from, with the pairs of equal classes; None if there are none.
    """

    keys: NDArray[np.int64]
    errors: Float64s
    totals: Float64s
    rate: float
    strengths: Strengths = STRONGEST
    pairs: PairCounts | None = None

    @classmethod
    def symmetric(cls, k: int, rate: float) -> "TransitionMatrix":
        """Symmetric noise: a share ``rate`` of the labels is drawn uniformly from all classes.

        >>> TransitionMatrix.symmetric(2, 0.2).to_dense()
        array([[0.9, 0.1],
               [0.1, 0.9]])
        """
        return cls(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(k), rate * (k - 1) / k)

    @classmethod
    def from_counts(cls, pairs: PairCounts, k: int, strengths: Strengths | None = None) -> "TransitionMatrix":
        """Estimate from expected counts; without ``strengths``, those under which the counts are most likely."""
        layout = pairs.layout or PairLayout(pairs.keys, k)
        errors = pairs.counts[layout.wrong]
        totals = np.bincount(layout.right, pairs.counts, k).astype(np.float64, copy=False)
        rate = min(max(float(errors.sum()) / max(float(totals.sum()), 1e-300), _MIN_RATE), 1.0 - _MIN_RATE)
        pairs = replace(pairs, layout=layout)
        flat = cls(layout.wrong_keys, errors, totals, rate, pairs=pairs)
        return flat if strengths == flat.strengths else replace(flat, strengths=strengths or flat.best_strengths())

    def best_strengths(self) -> Strengths:
        """The strengths of the prior with the highest marginal likelihood of the counts."""
        rates = max(STRENGTHS, key=lambda strength: self._log_evidence_of_rates(strength))
        k = len(self.totals)
        if k == 2:  # errors have one class to go to
            return Strengths(rates)
        return Strengths(rates, max(STRENGTHS, key=lambda strength: self._log_evidence_of_targets(strength)))

    @property
    def occam_factor(self) -> float:
        """Log marginal likelihood of the counts minus their log-likelihood under this T, at most 0.

        Added to the log-likelihood of the labels it gives an approximation of the marginal likelihood of a model
        (Cheeseman and Stutz, 1996): structure that T had to learn counts against it.
        """
        rates = self._row_rates
        right = self._log_evidence_of_rates(self.strengths.rates)
        right -= float((self._row_errors * np.log(rates) + self._row_rights * np.log1p(-rates)).sum())
        if len(self.totals) == 2:
            return right
        targets = self._log_evidence_of_targets(self.strengths.targets)
        return right + targets - float((self.errors * np.log(self._targets(self._right, self.errors))).sum())

    def at(self, keys: NDArray[np.int64]) -> Float64s:
        """The entries of T for these pairs."""
        k = len(self.totals)
        if self.pairs is not None and self.pairs.keys is keys:
            return self._at_pairs(self.pairs.counts, self.pairs.layout or PairLayout(keys, k))
        right, given = np.divmod(keys, k)
        return np.where(right == given, 1.0 - self._row_rates[right], self._wrong(right, self._errors_at(keys)))

    def _at_pairs(self, counts: Float64s, layout: PairLayout) -> Float64s:
        """The same for the pairs that T was estimated from: nothing has to be looked up."""
        strength = self.strengths.targets
        entries = counts + strength / max(len(self.totals) - 1, 1)
        entries *= np.repeat(self._row_rates / (self._row_errors + strength), layout.sizes)
        entries[layout.same] = 1.0 - self._row_rates[layout.right[layout.same]]
        return entries

    def _wrong(self, right: Ints, errors: Float64s) -> Float64s:
        return np.asarray(self._row_rates[right] * self._targets(right, errors))

    def _targets(self, right: Ints, errors: Float64s) -> Float64s:
        """Share of the errors of class ``right`` that goes to a class with so many ``errors``."""
        strength = self.strengths.targets
        uniform = strength / max(len(self.totals) - 1, 1)
        return np.asarray((errors + uniform) / (self._row_errors[right] + strength))

    def _errors_at(self, keys: NDArray[np.int64]) -> Float64s:
        if len(self.keys) == 0:
            return np.zeros(len(keys))
        index = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[index] == keys, self.errors[index], 0.0)

    @cached_property
    def _right(self) -> Ints:
        layout = None if self.pairs is None else self.pairs.layout
        return np.asarray(self.keys // len(self.totals)) if layout is None else layout.wrong_right

    @cached_property
    def _row_errors(self) -> Float64s:
        k = len(self.totals)
        return np.bincount(self._right, self.errors, k).astype(np.float64, copy=False)

    @cached_property
    def _row_rights(self) -> Float64s:
        return np.asarray(np.maximum(self.totals - self._row_errors, 0.0))

    @cached_property
    def _row_rates(self) -> Float64s:
        """The noise rate of each class."""
        pseudo = self.strengths.rates / max(self.rate, _MIN_RATE)
        return np.asarray(
            (self._row_errors + self.strengths.rates) / (self._row_errors + self._row_rights + pseudo)
        )

    def _log_evidence_of_rates(self, strength: float) -> float:
        """Log-likelihood of the numbers of errors of the classes, rates integrated out (beta-binomial)."""
        pseudo = strength / max(self.rate, _MIN_RATE)
        errors, rights, rest = self._row_errors, self._row_rights, pseudo - strength
        terms = gammaln(errors + strength) + gammaln(rights + rest) - gammaln(errors + rights + pseudo)
        constant = float(gammaln(strength) + gammaln(rest) - gammaln(pseudo))
        return float(terms.sum()) - len(self.totals) * constant

    def _log_evidence_of_targets(self, strength: float) -> float:
        """Log-likelihood of where errors go, their distribution integrated out (Dirichlet-multinomial)."""
        uniform = strength / (len(self.totals) - 1)
        rows = gammaln(strength) - gammaln(self._row_errors + strength)
        return float(rows.sum()) + self._log_rising(uniform)

    def _log_rising(self, start: float) -> float:
        """Σ log Γ(errors + start) / Γ(start): with many classes most errors are tiny, and Γ is costly."""
        tiny, large = self._tiny_errors
        total = float(gammaln(large + start).sum()) - len(large) * float(gammaln(start))
        if start > _SMALL_START:
            return total + float(tiny.sum()) * float(digamma(start))
        # Γ(x) is nearly 1 / x. A logarithm of a product of many factors is cheaper than one of each.
        factors = np.ones(-(-len(tiny) // _FACTORS) * _FACTORS)
        np.divide(tiny, start, out=factors[: len(tiny)])
        factors[: len(tiny)] += 1.0
        return total - float(np.log(factors.reshape(-1, _FACTORS).prod(axis=1)).sum())

    @cached_property
    def _tiny_errors(self) -> tuple[Float64s, Float64s]:
        is_tiny = self.errors < _TINY_ERRORS
        return self.errors[is_tiny], self.errors[~is_tiny]

    def to_dense(self) -> Float64s:
        """T as a new K x K array."""
        return self.dense.copy()

    @cached_property
    def dense(self) -> Float64s:
        """T as a K x K array, computed once and shared: not to be changed."""
        k = len(self.totals)
        return self.at(all_pairs(k).keys).reshape(k, k)

    @property
    def noise_rate(self) -> float:
        """Share of the labels that are wrong."""
        return float(self.errors.sum()) / max(float(self.totals.sum()), 1e-300)
