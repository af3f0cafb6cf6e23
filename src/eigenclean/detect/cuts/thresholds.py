"""Cuts without a mixture: a fixed score, a fixed share of each class, and scores that are log-odds already."""

import numpy as np
from scipy.special import expit

from eigenclean.arrays import Bools, ClassRows, Float64s, Ints
from eigenclean.detect.cuts.base import Cut
from eigenclean.errors import InvalidOption


class FixedCut(Cut):
    """Scores above ``at`` are kept; p is a logistic function of the distance to it in standard deviations.

    Args:
        at: the boundary, on the scale of the score.

    >>> cut = FixedCut(at=0.5).fit(np.array([0.1, 0.9]), np.array([0, 0]))
    >>> cut.p_clean(np.array([0.4, 0.5, 0.6]), np.zeros(3, dtype=int)).round(2)
    array([0.44, 0.5 , 0.56])
    """

    def __init__(self, *, at: float = 0.5) -> None:
        self.at = at

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed."""
        if not np.isfinite(self.at):
            raise InvalidOption(f"fixed cut: at must be a finite score, got {self.at}")

    def _fit(self, scores: Float64s, rows: ClassRows) -> Bools:
        spread = float(np.std(scores)) if len(scores) else 0.0
        self._spread = spread if spread > 0 else 1.0
        return np.zeros(len(rows), dtype=bool)

    def _p_clean(self, scores: Float64s, groups: Ints) -> Float64s:
        return np.asarray(expit((scores - self.at) / self._spread))


class QuantileCut(Cut):
    """The lowest ``fraction`` of each class is flagged: for a known noise rate, or a budget.

    p is the rank of the score in its class, rescaled piecewise so that it passes 0.5 at the given fraction; it is a
    ranking, not an estimated probability.

    Args:
        fraction: share of each class to flag, between 0 and 1.

    >>> cut = QuantileCut(fraction=0.25).fit(np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4, dtype=int))
    >>> cut.p_clean(np.array([1.0, 2.0]), np.zeros(2, dtype=int)) > 0.5
    array([False,  True])
    """

    def __init__(self, *, fraction: float = 0.2) -> None:
        self.fraction = fraction

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed."""
        if not 0 <= self.fraction <= 1:
            raise InvalidOption(f"quantile cut: fraction must be between 0 and 1, got {self.fraction}")

    def _fit(self, scores: Float64s, rows: ClassRows) -> Bools:
        self._starts, self._sorted = rows.starts, scores
        return self.constant_classes()

    def _p_clean(self, scores: Float64s, groups: Ints) -> Float64s:
        rank = np.empty(len(scores))
        queried = ClassRows.of(groups, len(self._starts) - 1)
        for k in np.flatnonzero(queried.counts).tolist():
            of_class = self._sorted[self._starts[k] : self._starts[k + 1]]
            rank[queried[k]] = np.searchsorted(of_class, scores[queried[k]], side="left") / max(1, len(of_class))
        # The smallest score has rank 0; the first one that is kept has rank ≥ fraction and must lie above 0.5.
        flagged = rank < self.fraction
        below = 0.5 * rank / max(self.fraction, 1e-12)
        above = 0.5 + 0.5 * (rank - self.fraction + 1e-9) / max(1 - self.fraction + 1e-9, 1e-12)
        return np.clip(np.where(flagged, below, above), 0.0, 1.0)


class PosteriorCut(Cut):
    """The score is the log-odds that the label is right, so nothing is fitted.

    Args:
        min_samples: classes smaller than this are kept whole: there are too few samples to compare.

    >>> cut = PosteriorCut().fit(np.array([0.0, 1.0, 2.0]), np.array([0, 0, 0]))
    >>> cut.p_clean(np.array([0.0]), np.array([0]))
    array([0.5])
    """

    def __init__(self, *, min_samples: int = 3) -> None:
        self.min_samples = min_samples

    def _fit(self, scores: Float64s, rows: ClassRows) -> Bools:
        return np.asarray((rows.counts < self.min_samples) | self.constant_classes())

    def _p_clean(self, scores: Float64s, groups: Ints) -> Float64s:
        return np.asarray(expit(scores))
