"""A two-component beta mixture on the scores of each class."""

from typing import ClassVar

from eigenclean.detect.cuts.mixture import MixtureCut
from eigenclean.mixture import Family


class BetaCut(MixtureCut):
    """Two beta densities per class, on scores stretched to [0, 1]; they can be skewed, as alignments are.

    The released code looks for the boundary on the stretched scale but compares unstretched scores with it; here
    both are on the same scale.

    >>> import numpy as np
    >>> scores = np.concatenate([np.linspace(0.1, 0.2, 50), np.linspace(0.8, 0.9, 50)])
    >>> cut = BetaCut().fit(scores, np.zeros(100, dtype=int))
    >>> cut.p_clean(np.array([0.15, 0.85]), np.array([0, 0])).round(3)
    array([0., 1.])
    """

    family: ClassVar[Family] = "beta"
