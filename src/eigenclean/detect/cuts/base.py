"""The base of all cuts: a cut turns scores into the probability that the label is right."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from eigenclean.arrays import Array, Bools, ClassRows, Float64s, Ints

LEVELS = 33
_RELATIVE_ROUNDING = 5e-7  # a few units in the last place of a float32 score


class Cut(BaseEstimator, ABC):
    """Maps scores to probabilities, class by class; p never decreases when the score increases.

    ``groups`` gives the class of each score as a number 0..K-1.

    Attributes:
        whole_: for each class, True when no decision could be made (too few or equal scores): all are kept.
        levels_: K x 33, quantiles of the scores of each class, from the lowest to the highest.
    """

    whole_: Bools
    levels_: Float64s

    def fit(
        self, scores: Array, groups: Ints, n_groups: int | None = None, *, ceiling: float | None = None
    ) -> Self:
        """Learn from the scores of each class where those of right labels begin.

        ``n_groups`` is the number of classes, with or without scores; ``ceiling`` is the upper bound of the score,
        such as 1 for a cosine, if it has one.
        """
        self.check_options()
        scores = np.asarray(scores, dtype=np.float64)
        n_present = int(groups.max()) + 1 if len(groups) else 0
        ordered, rows = _sorted_by_class(scores, groups, n_present if n_groups is None else n_groups)
        self.levels_ = ordered[spread_ranks(rows, LEVELS)] if len(ordered) else np.zeros((len(rows), LEVELS))
        self.levels_[rows.counts == 0] = 0.0
        self._ceiling = ceiling
        self.whole_ = self._fit(ordered, rows)
        return self

    def p_clean(self, scores: Array, groups: Ints) -> Float64s:
        """Probability that each label is right."""
        p = self._p_clean(np.asarray(scores, dtype=np.float64), groups)
        p[self.whole_[groups]] = 1.0
        return p

    def percentile(self, scores: Array, groups: Ints) -> Float64s:
        """Share of the class's scores at fitting that are not higher: near 0 for a sample that does not belong."""
        share = np.mean(self.levels_[groups] <= np.asarray(scores, dtype=np.float64)[:, None], axis=1)
        return np.asarray(share)

    def boundary(self, threshold: float) -> Float64s:
        """The score of each class from which on labels are kept; NaN where the class is kept or dropped whole."""
        low, high = self.levels_[:, 0].copy(), self.levels_[:, -1].copy()
        groups = np.arange(len(low))
        inside = (self.p_clean(low, groups) <= threshold) & (self.p_clean(high, groups) > threshold)
        for _ in range(50):  # p increases with the score, so bisection finds the boundary of all classes at once
            middle = 0.5 * (low + high)
            kept = self.p_clean(middle, groups) > threshold
            high, low = np.where(kept, middle, high), np.where(kept, low, middle)
        return np.where(inside, high, np.nan)

    def describe(self) -> dict[str, Any]:
        """What was fitted, as plain values for the verdict's record and the report; empty by default."""
        return {}

    def constant_classes(self) -> Bools:
        """Which classes have scores that differ by no more than rounding in float32, or none at all."""
        spread = self.levels_[:, -1] - self.levels_[:, 0]
        return np.asarray(spread <= _RELATIVE_ROUNDING * np.abs(self.levels_).max(axis=1))

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        return  # a cut without options has nothing to check

    @abstractmethod
    def _fit(self, scores: Float64s, rows: ClassRows) -> Bools:
        """Learn from the scores, class by class and ascending; return which classes are undecidable."""

    @abstractmethod
    def _p_clean(self, scores: Float64s, groups: Ints) -> Float64s:
        """Probabilities; those of undecidable classes are overwritten with 1."""


def plain_numbers(values: Float64s) -> list[Any]:
    """Nested lists for JSON, with None where there is no number.

    >>> plain_numbers(np.array([0.5, np.nan]))
    [0.5, None]
    """
    plain = values.astype(object)
    plain.ravel()[:] = [float(f"{value:.12g}") if np.isfinite(value) else None for value in values.flat]
    return list(plain.tolist())


def spread_ranks(rows: ClassRows, most: int) -> Ints:
    """K x ``most`` positions, evenly spread over the sorted scores of each class, first and last included."""
    steps = np.linspace(0.0, 1.0, most) * np.maximum(rows.counts - 1, 0)[:, None]
    last = max(int(rows.starts[-1]) - 1, 0)  # for a last class without scores
    return np.minimum(rows.starts[:-1, None] + np.round(steps).astype(np.intp), last)


def _sorted_by_class(scores: Float64s, groups: Ints, n_groups: int) -> tuple[Float64s, ClassRows]:
    rows = ClassRows.of(groups, n_groups)
    ordered = scores[rows.order]
    for k in range(n_groups):
        ordered[rows.starts[k] : rows.starts[k + 1]].sort()
    return ordered, ClassRows(np.arange(len(ordered)), rows.starts)
