"""Features of any magnitude: a power of two brings them into the range in which squares and sums are finite.

Detectors compute squares of features and sums of squares, and hash rows in float32. With values of 1e200 the
squares are infinite, with values of 1e-200 they are zero. Multiplication by a power of two is exact, so nothing but
the magnitude changes, and ordinary features are not touched at all. In memory `Detector.fit` does this; the
streaming and the Dask engine do it where they read the rows.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eigenclean.arrays import Array, Float64s, row_chunks
from eigenclean.errors import InvalidData

_SAFE_EXPONENT = {2: 40, 4: 40, 8: 64}  # by item size: largest values from 2**-e to 2**e need no scaling
_MAX_GAP = 100  # rows or columns 2**100 times smaller than the largest value vanish beside it
_CACHED = 1 << 18  # bytes that stay in the cache between the search for the smallest and for the largest value


class OutOfRange(InvalidData):
    """The features have to be scaled before a detector can compute with them."""


class Magnitudes(NamedTuple):
    """The largest absolute value of every row and of every column of a block."""

    of_rows: Float64s
    of_columns: Float64s


def largest_magnitude(features: Array) -> float:
    """The largest absolute value; 1 for integers and float16, whose values are never too large or too small.

    >>> largest_magnitude(np.array([[1e-200, -3e-200]]))
    3e-200
    """
    if not _can_leave_range(features.dtype) or not features.size:
        return 1.0
    largest = 0.0
    for chunk in row_chunks(len(features), features.itemsize * features.shape[1], _CACHED):
        block = features[chunk]
        largest = max(largest, float(block.max()), -float(block.min()))
    return largest


def is_too_large(largest: float, dtype: np.dtype[Any]) -> bool:
    """Whether squares and sums of such values may be infinite."""
    return _can_leave_range(dtype) and largest > 2.0 ** _safe_exponent(dtype)


def is_in_range(largest: float, dtype: np.dtype[Any]) -> bool:
    """Whether features of which this is the largest absolute value can be computed with as they are."""
    too_small = _can_leave_range(dtype) and 0.0 < largest < 2.0 ** -_safe_exponent(dtype)
    return not too_small and not is_too_large(largest, dtype)


def magnitudes(features: Array) -> Magnitudes:
    """The largest absolute values of the rows and of the columns."""
    sizes = np.abs(features)
    return Magnitudes(sizes.max(axis=1, initial=0).astype(float), sizes.max(axis=0, initial=0).astype(float))


def choose_exponent(blocks: Iterable[Magnitudes], *, by: str) -> int:
    """The exponent e for which ``features * 2**-e`` have a largest absolute value from 1 to 2.

    One row or column that is so large that the others would vanish beside it is `InvalidData`.

    >>> choose_exponent([magnitudes(np.array([[12e200], [3e200]]))], by="FINE")
    667
    """
    of_rows, of_columns = zip(*blocks, strict=True)
    largest = _check_proportions(np.concatenate(of_rows), "row", by=by)
    _check_proportions(np.max(of_columns, axis=0), "column", by=by)
    return int(np.frexp(largest)[1]) - 1


def scale(features: Array, exponent: int) -> Array:
    """Features times ``2**-exponent``; the same array for 0.

    >>> scale(np.array([[3e200, 12e200]]), 667).round(3)
    array([[0.49, 1.96]])
    """
    return features if exponent == 0 else np.ldexp(features, -exponent)


def scale_to_range(features: Array, *, by: str) -> tuple[Array, int]:
    """Features that can be computed with, and the exponent that they were scaled by (0 for ordinary ones)."""
    if is_in_range(largest_magnitude(features), features.dtype):
        return features, 0
    chunks = row_chunks(len(features), features.itemsize * features.shape[1])
    exponent = choose_exponent([magnitudes(features[chunk]) for chunk in chunks], by=by)
    return scale(features, exponent), exponent


def scale_like_fit(features: Array, exponent: int, *, by: str) -> Array:
    """Features scaled as those of fit were; much larger ones are `InvalidData`."""
    scaled = scale(features, exponent)
    if is_too_large(largest_magnitude(scaled), scaled.dtype):
        raise InvalidData(too_large_for_fit(largest_magnitude(features), by=by))
    return scaled


def too_large_for_fit(largest: float, *, by: str) -> str:
    """The sentence for features that are nothing like those that the detector knows."""
    return f"{by}: the features reach {largest:.3g}, far beyond those of fit; scale them as in fit"


def _can_leave_range(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" and dtype.itemsize > 2


def _safe_exponent(dtype: np.dtype[Any]) -> int:
    return _SAFE_EXPONENT.get(dtype.itemsize, 64)


def _check_proportions(sizes: Float64s, what: str, *, by: str) -> float:
    """The largest of the sizes, if it does not exceed most of the others beyond measure."""
    positive: Sequence[float] = np.sort(sizes[sizes > 0]).tolist()
    largest, typical = positive[-1], positive[(len(positive) - 1) // 2]
    if np.frexp(largest)[1] - np.frexp(typical)[1] > _MAX_GAP:
        raise InvalidData(
            f"{by}: {what} {int(sizes.argmax())} of the features has values up to {largest:.3g}, and most {what}s "
            f"have at most {typical:.3g}: they vanish beside it; correct, drop or scale that {what}"
        )
    return largest
