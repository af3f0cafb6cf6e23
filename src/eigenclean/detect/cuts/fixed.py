"""One boundary for all classes, given by the user."""

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
