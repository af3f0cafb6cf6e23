"""How many labels are wrong, as an interval: what the probabilities say, and how far that may be off.

Nobody needs the truth for this; see `eigenclean.metrics.calibration` for what can be said when it is known.
"""

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Float64s, Ints
from eigenclean.metrics.calibration import check_probabilities
from eigenclean.metrics.shares import normal_quantile, wilson_interval

LEVEL = 0.9
# The odds of all labels may be off by this factor, one standard deviation either way. A guess, not a measurement:
# chosen on digits, wine and breast cancer with planted noise; weak features do worse (docs/explanation/verdict.md).
ODDS = 2.0


def noise_rate_interval(p_clean: ArrayLike, level: float = LEVEL) -> tuple[float, float]:
    """Between which shares the wrong labels probably are; the estimate itself is the mean of 1 - ``p_clean``.

    >>> low, high = noise_rate_interval([0.02] * 20 + [0.98] * 80)
    >>> round(low, 2), round(high, 2)
    (0.15, 0.29)
    >>> low, high = noise_rate_interval([0.79] * 100)  # the same estimate, but nothing is decided
    >>> round(low, 2), round(high, 2)
    (0.0, 0.54)
    """
    p = np.asarray(p_clean)
    low, high = noise_rate_intervals(p, np.zeros(p.shape[:1], dtype=np.intp), 1, level)
    return float(low[0]), float(high[0])


def noise_rate_intervals(
    p_clean: ArrayLike, groups: Ints, n_groups: int, level: float = LEVEL
) -> tuple[Float64s, Float64s]:
    """The lower and the upper ends of `noise_rate_interval` for each group of rows, such as the classes.

    >>> low, high = noise_rate_intervals([1.0, 1.0, 0.0], np.array([0, 0, 1]), 3)
    >>> low.round(2), high.round(2)
    (array([0.  , 0.27, 0.  ]), array([0.57, 1.  , 1.  ]))
    """
    if len(groups) == 0:
        return np.zeros(n_groups), np.ones(n_groups)  # no labels say nothing
    p = check_probabilities(p_clean, by="noise_rate_interval", what="p_clean")
    q = 1.0 - p
    n = np.bincount(groups, minlength=n_groups)

    def rate(wrong: Float64s) -> Float64s:
        return np.bincount(groups, weights=wrong, minlength=n_groups) / np.maximum(n, 1)

    # Three doubts, squared and added, each side for itself:
    # 1. sampling: n labels are a sample, their number of errors is binomial;
    # 2. bias: the odds of all labels may be off by a common factor, which moves only what is not decided;
    # 3. sharpness: were every label what it more probably is, this many would be wrong. Where that differs from
    #    the estimate, the estimate is made of many small doubts, the least certain kind of probability.
    # Not covered, because no one can see it without the truth: odds that are off by much more, all the same way.
    estimate = rate(q)
    factor = ODDS ** normal_quantile(level)
    lowest, highest = wilson_interval(estimate, n, level)
    lower, higher = rate(q / (q + factor * p)), rate(factor * q / (factor * q + p))
    decided = rate(np.heaviside(q - 0.5, 0.5))
    low = estimate - np.sqrt((estimate - lowest) ** 2 + (estimate - lower) ** 2 + (estimate - decided) ** 2)
    high = estimate + np.sqrt((highest - estimate) ** 2 + (higher - estimate) ** 2 + (decided - estimate) ** 2)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)
