"""2-means on the scores of each class: the nearer centre decides."""

import numpy as np

from eigenclean.arrays import Bools, ClassRows, Float64s, Ints
from eigenclean.detect.cuts.base import Cut
from eigenclean.mixture import best_two_means


class KMeansCut(Cut):
    """2-means on the scores of each class, solved exactly; p is the position between the two centres.

    Args:
        min_samples: classes smaller than this are kept whole.

    Attributes:
        centres_: K x 2, lower and upper centre.

    >>> cut = KMeansCut(min_samples=2).fit(np.array([0.0, 1.0, 10.0, 11.0]), np.zeros(4, dtype=int))
    >>> cut.p_clean(np.array([0.5, 5.5, 10.5]), np.zeros(3, dtype=int))
    array([0. , 0.5, 1. ])
    """

    centres_: Float64s

    def __init__(self, *, min_samples: int = 10) -> None:
        self.min_samples = min_samples

    def _fit(self, scores: Float64s, rows: ClassRows) -> Bools:
        self.centres_, valid = best_two_means(scores, rows, min_samples=self.min_samples)
        return np.asarray(~valid | self.constant_classes())

    def _p_clean(self, scores: Float64s, groups: Ints) -> Float64s:
        low, high = self.centres_[groups, 0], self.centres_[groups, 1]
        with np.errstate(invalid="ignore", divide="ignore"):
            position = (scores - low) / (high - low)
        return np.asarray(np.clip(np.nan_to_num(position, nan=1.0), 0.0, 1.0))
