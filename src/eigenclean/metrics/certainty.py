"""Certainty bands: three names for ranges of P(wrong), used wherever people filter or count flags by certainty.

The report counts flags per band and the review page filters by band; both read the limits from here.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class CertaintyBand:
    """A range of P(wrong), from ``lower`` (included) to the lower limit of the band above it.

    Attributes:
        name: what the band is called in the report and on the review page.
        lower: smallest probability in the band.
        rule: the range in words.
    """

    name: str
    lower: float
    rule: str


CERTAINTY_BANDS = (
    CertaintyBand("sure", 0.95, "95 % or more"),
    CertaintyBand("likely", 0.75, "75 to 95 %"),
    CertaintyBand("borderline", 0.0, "below 75 %"),
)


def count_by_certainty(p_wrong: ArrayLike) -> list[int]:
    """Number of labels in each of `CERTAINTY_BANDS`, in that order.

    >>> count_by_certainty([0.99, 0.95, 0.8, 0.5, 0.4])
    [2, 1, 2]
    """
    upper_limits = [band.lower for band in CERTAINTY_BANDS[:-1]][::-1]
    band_from_below = np.digitize(np.asarray(p_wrong, dtype=np.float64), upper_limits)
    counts: list[int] = np.bincount(band_from_below, minlength=len(CERTAINTY_BANDS))[::-1].tolist()
    return counts
