"""The cut of detectors whose score is the log-odds of a right label already."""

import numpy as np
from scipy.special import expit

from eigenclean.arrays import Bools, ClassRows, Float64s, Ints
from eigenclean.detect.cuts.base import Cut


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
