"""FINE's own cut: a two-component Gaussian mixture on the scores of each class."""

from typing import ClassVar

from eigenclean.detect.cuts.mixture import MixtureCut
from eigenclean.mixture import Family


class GaussianCut(MixtureCut):
    """Two Gaussians per class; the one with the larger mean holds the right labels.

    ``GaussianCut(monotone=False, split="always")`` decides as the released code does.

    >>> import numpy as np
    >>> scores = np.concatenate([np.linspace(0.1, 0.2, 50), np.linspace(0.8, 0.9, 50)])
    >>> cut = GaussianCut().fit(scores, np.zeros(100, dtype=int))
    >>> cut.p_clean(np.array([0.15, 0.85]), np.array([0, 0])).round(3)
    array([0., 1.])
    """

    family: ClassVar[Family] = "gaussian"
