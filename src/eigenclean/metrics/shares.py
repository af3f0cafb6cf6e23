"""Confidence intervals of a share that was counted among n rows."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidOption


def wilson_interval(share: ArrayLike, n: ArrayLike, level: float = 0.9) -> tuple[Float64s, Float64s]:
    """Wilson's score interval: within 0 and 1, never a single point; [0, 1] for a share of no rows.

    >>> low, high = wilson_interval([0.0, 0.2, 0.2], [10, 10, 1000])
    >>> low.round(3), high.round(3)
    (array([0.   , 0.069, 0.18 ]), array([0.213, 0.459, 0.222]))
    """
    z = normal_quantile(level)
    share, n = np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64)
    centre = n * share + z**2 / 2
    half = z * np.sqrt(np.maximum(n * share * (1 - share), 0) + z**2 / 4)
    return np.clip((centre - half) / (n + z**2), 0, 1), np.clip((centre + half) / (n + z**2), 0, 1)


def normal_quantile(level: float) -> float:
    """How many standard deviations either way hold a share ``level`` of a normal distribution.

    >>> round(normal_quantile(0.9), 3)
    1.645
    """
    if isinstance(level, bool) or not 0 < level < 1:
        raise InvalidOption(f"the level of an interval must be between 0 and 1, such as 0.9, got {level!r}")
    return float(ndtri((1 + level) / 2))
