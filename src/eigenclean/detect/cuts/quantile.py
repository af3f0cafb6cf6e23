"""A fixed share of each class is flagged, whatever the distribution of its scores."""

import numpy as np

from eigenclean.arrays import Bools, ClassRows, Float64s, Ints
from eigenclean.detect.cuts.base import Cut
from eigenclean.errors import InvalidOption


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
