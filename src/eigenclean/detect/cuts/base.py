"""What a cut is: it turns scores into the probability that the label is right."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from eigenclean.arrays import Array, Bools, ClassRows, Float64s, Ints

LEVELS = 33
_ALIKE = 5e-7  # a few units in the last place of a float32 score


class Cut(BaseEstimator, ABC):
    """Scores in, probabilities out, class by class; p never falls when the score rises.

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
        """Learn where the good scores begin in each class.

        ``n_groups`` says how many classes there are, seen or not; ``ceiling`` is the highest score there can be,
        such as 1 for a cosine.
        """
        self.check_options()
        scores = np.asarray(scores, dtype=np.float64)
        seen = int(groups.max()) + 1 if len(groups) else 0
        ordered, rows = _sorted_by_class(scores, groups, seen if n_groups is None else n_groups)
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
        """Share of the class's own scores that are not higher: near 0 for a sample that does not belong."""
        share = np.mean(self.levels_[groups] <= np.asarray(scores, dtype=np.float64)[:, None], axis=1)
        return np.asarray(share)

    def boundary(self, threshold: float) -> Float64s:
        """The score of each class from which on labels are kept; NaN where the class is kept or dropped whole."""
        low, high = self.levels_[:, 0].copy(), self.levels_[:, -1].copy()
        groups = np.arange(len(low))
        inside = (self.p_clean(low, groups) <= threshold) & (self.p_clean(high, groups) > threshold)
        for _ in range(50):  # p rises with the score, so bisection finds the place for all classes at once
            middle = 0.5 * (low + high)
            kept = self.p_clean(middle, groups) > threshold
            high, low = np.where(kept, middle, high), np.where(kept, low, middle)
        return np.where(inside, high, np.nan)

    def describe(self) -> dict[str, Any]:
        """What was learned, for the record and the report; nothing by default."""
        return {}

    def alike(self) -> Bools:
        """Which classes have scores that differ by no more than rounding in float32, or none at all."""
        spread = self.levels_[:, -1] - self.levels_[:, 0]
        return np.asarray(spread <= _ALIKE * np.abs(self.levels_).max(axis=1))

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        return  # a cut without options has none that could be wrong

    @abstractmethod
    def _fit(self, scores: Float64s, rows: ClassRows) -> Bools:
        """Learn from the scores, class by class and ascending; return which classes could not be decided."""

    @abstractmethod
    def _p_clean(self, scores: Float64s, groups: Ints) -> Float64s:
        """Probabilities for the classes that were decided; the others are overwritten."""


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
