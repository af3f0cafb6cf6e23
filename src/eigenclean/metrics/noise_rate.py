"""An interval for the share of wrong labels, from their probabilities alone.

It does not need the truth; where that is known, `eigenclean.metrics.calibration` measures the probabilities.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from eigenclean.arrays import Float64s, Ints
from eigenclean.errors import InvalidOption
from eigenclean.metrics.calibration import check_probabilities
from eigenclean.verdict import Verdict


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


LEVEL = 0.9
# The odds of all labels may be off by this factor, one standard deviation either way. An assumption, not measured:
# chosen on digits, wine and breast cancer with planted noise; weak features do worse (docs/explanation/verdict.md).
ODDS = 2.0


def noise_rate_interval(p_clean: ArrayLike, level: float = LEVEL) -> tuple[float, float]:
    """Interval for the share of wrong labels at that ``level``, around its estimate, the mean of 1 - ``p_clean``.

    >>> low, high = noise_rate_interval([0.02] * 20 + [0.98] * 80)
    >>> round(low, 2), round(high, 2)
    (0.15, 0.29)
    >>> low, high = noise_rate_interval([0.79] * 100)  # the same estimate, but every label is uncertain
    >>> round(low, 2), round(high, 2)
    (0.0, 0.54)
    """
    p = np.asarray(p_clean)
    low, high = noise_rate_intervals(p, np.zeros(p.shape[:1], dtype=np.intp), 1, level)
    return float(low[0]), float(high[0])


def verdict_interval(verdict: Verdict, level: float = LEVEL) -> tuple[float, float]:
    """Interval for the share of wrong labels of a verdict: by its probabilities, and what its detector left open.

    Labels alone do not always tell how many of them are wrong. A detector that knows the range of rates that they
    leave possible records it as ``noise_rate_range``, and the interval is at least as wide. An unknown probability
    counts as one half.

    >>> labels, p_clean = np.array([0, 1]), np.array([0.9, 0.8])
    >>> never = np.zeros(2, dtype=bool)
    >>> facts = {"noise_rate_range": [0.0, 1.0]}
    >>> verdict_interval(Verdict(labels, labels, p_clean, p_clean, never, labels, p_clean, facts))
    (0.0, 1.0)
    """
    p_clean = np.nan_to_num(np.asarray(verdict.p_clean, dtype=np.float64), nan=0.5)
    low, high = noise_rate_interval(p_clean, level)
    lowest, highest = recorded_range(verdict) or (low, high)
    return min(low, lowest), max(high, highest)


def recorded_range(verdict: Verdict) -> tuple[float, float] | None:
    """The ``noise_rate_range`` of the record; a verdict from a file may have anything there."""
    made_by = verdict.made_by if isinstance(verdict.made_by, Mapping) else {}
    match made_by.get("noise_rate_range"):
        case (int() | float() as low, int() | float() as high) if 0 <= low <= high <= 1:
            return float(low), float(high)
    return None


def noise_rate_intervals(
    p_clean: ArrayLike, groups: Ints, n_groups: int, level: float = LEVEL
) -> tuple[Float64s, Float64s]:
    """The lower and the upper ends of `noise_rate_interval` for each group of rows, such as the classes.

    >>> low, high = noise_rate_intervals([1.0, 1.0, 0.0], np.array([0, 0, 1]), 3)
    >>> low.round(2), high.round(2)
    (array([0.  , 0.27, 0.  ]), array([0.57, 1.  , 1.  ]))
    """
    if len(groups) == 0:
        return np.zeros(n_groups), np.ones(n_groups)  # without labels any share is possible
    p = check_probabilities(p_clean, by="noise_rate_interval", what="p_clean")
    q = 1.0 - p
    n = np.bincount(groups, minlength=n_groups)

    def rate(wrong: Float64s) -> Float64s:
        return np.bincount(groups, weights=wrong, minlength=n_groups) / np.maximum(n, 1)

    # Three sources of error, added in squares, each side separately:
    # 1. sampling: n labels are a sample, their number of errors is binomial;
    # 2. bias: the odds of all labels may be off by a common factor, which moves only uncertain labels;
    # 3. sharpness: the share of labels that are more probably wrong than right. Where that differs from the
    #    estimate, the estimate is a sum of many small probabilities, which are the least reliable.
    # Not covered, because it cannot be detected without the truth: odds that are off by much more in one direction.
    estimate = rate(q)
    factor = ODDS ** normal_quantile(level)
    lowest, highest = wilson_interval(estimate, n, level)
    lower, higher = rate(q / (q + factor * p)), rate(factor * q / (factor * q + p))
    rounded = rate(np.heaviside(q - 0.5, 0.5))
    low = estimate - np.sqrt((estimate - lowest) ** 2 + (estimate - lower) ** 2 + (estimate - rounded) ** 2)
    high = estimate + np.sqrt((highest - estimate) ** 2 + (higher - estimate) ** 2 + (rounded - estimate) ** 2)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)
