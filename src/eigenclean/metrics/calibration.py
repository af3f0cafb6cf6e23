"""Calibration: of the labels said to be right with probability p, is a share p right?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Bools, Float64s, Ints
from eigenclean.errors import InvalidData, InvalidOption, TooFewSamples


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predictions in bins of equal width, lowest first; a bin without rows has NaN for both means.

    Attributes:
        count: rows in each bin.
        mean_predicted: mean predicted probability.
        observed: share of rows whose outcome is true.
    """

    count: Ints
    mean_predicted: Float64s
    observed: Float64s

    @property
    def expected_error(self) -> float:
        """Expected calibration error: the distance of predicted and observed, averaged over the rows."""
        filled = self.count > 0
        gap = np.abs(self.mean_predicted[filled] - self.observed[filled])
        return float(np.average(gap, weights=self.count[filled]))


def reliability_curve(p: ArrayLike, outcome: ArrayLike, bins: int = 10) -> Reliability:
    """Predicted against observed, in ``bins`` bins of equal width; an inner edge belongs to the bin below it.

    >>> curve = reliability_curve([0.1, 0.2, 0.9], [False, True, True], bins=2)
    >>> curve.count, curve.mean_predicted.round(2), curve.observed
    (array([2, 1]), array([0.15, 0.9 ]), array([0.5, 1. ]))
    """
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise InvalidOption(f"reliability_curve: bins must be an integer from 1, got {bins!r}")
    predicted = check_probabilities(p, by="reliability_curve", what="p")
    true = check_mask(outcome, len(predicted), by="reliability_curve", what="outcome")
    bin_of = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], predicted)
    count = np.bincount(bin_of, minlength=bins)
    filled = np.where(count > 0, count, np.nan)
    return Reliability(
        count=count,
        mean_predicted=np.bincount(bin_of, weights=predicted, minlength=bins) / filled,
        observed=np.bincount(bin_of, weights=true, minlength=bins) / filled,
    )


def expected_calibration_error(p: ArrayLike, outcome: ArrayLike, bins: int = 10) -> float:
    """Distance of predicted and observed in each bin, averaged over the rows; 0 is perfect.

    >>> round(expected_calibration_error([0.1, 0.2, 0.9], [False, True, True], bins=2), 3)
    0.267
    """
    return reliability_curve(p, outcome, bins).expected_error


def check_probabilities(values: ArrayLike, *, by: str, what: str) -> Float64s:
    """Return one probability per row, at least one row, or raise `InvalidData`."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "fiub":
        raise InvalidData(f"{by}: {what} must be one number per row, got shape {array.shape} of type {array.dtype}")
    if len(array) == 0:
        raise TooFewSamples(f"{by}: there are no rows to measure; give at least one")
    inside = (array >= 0) & (array <= 1)
    if not inside.all():
        row = int(np.argmin(inside))
        raise InvalidData(f"{by}: {what} must be within 0 and 1, got {array[row].item()} in row {row}")
    return array.astype(np.float64, copy=False)


def check_mask(values: ArrayLike, n_rows: int, *, by: str, what: str) -> Bools:
    """Return one boolean per row, or raise `InvalidData`.

    >>> check_mask([1, 0], 2, by="histogram", what="is_clean")
    array([ True, False])
    """
    array = np.asarray(values)
    if array.shape != (n_rows,):
        raise InvalidData(f"{by}: {what} must have one value for each of {n_rows} rows, got shape {array.shape}")
    if array.dtype.kind not in "biu" or not np.isin(array, (0, 1)).all():
        raise InvalidData(
            f"{by}: {what} must be true or false for each row, got other values of type {array.dtype}"
        )
    return array.astype(bool, copy=False)
