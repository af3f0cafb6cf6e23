"""Which rows are on the map, where, and how their numbers travel to a page: 5 to 8 bytes each, as base64."""

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints, row_chunks
from eigenclean.sample_map.projection import PrincipalAxes, to_unit_square
from eigenclean.seeds import tagged_generator

MAX_POINTS = 100_000  # on a map: at most 0.7 megabytes for up to 256 classes, 0.8 for more
MAX_STREAMED = 10_000  # where features are read from files again, because these rows are all in memory
_FITTED, _FITTED_BYTES = 2500, 1 << 28  # rows that determine the axes
_CHUNK_BYTES = 1 << 24
_STEPS = (1 << 16) - 1  # of a position


def choose_rows(n: int, leading: Ints, most: int = MAX_POINTS) -> tuple[Ints, int]:
    """The rows on the map, ``leading`` ones first and in their order, and how many of these there are.

    Of more than ``most`` rows these are the first leading ones, up to half of all points, and a random sample.

    >>> choose_rows(6, np.array([4, 1]))
    (array([4, 1, 0, 2, 3, 5]), 2)
    """
    leading = leading[: n if n <= most else most // 2].astype(np.intp)
    if n <= most:
        others = np.setdiff1d(np.arange(n), leading)
    else:  # drawing does not need memory for all rows
        sample = tagged_generator(0, "sample map").choice(n, min(n, most + len(leading)), replace=False)
        others = np.sort(sample[~np.isin(sample, leading)][: most - len(leading)])
    return np.concatenate([leading, others]), len(leading)


def place_rows(fetch: Callable[[Ints], Array], rows: Ints, width: int) -> tuple[Float64s, float]:
    """Points of these rows in the unit square, and the share of the variance that the two axes explain.

    ``fetch`` gives the features of some rows, each ``width`` numbers. The axes are those of a sample; all rows are
    projected on them, a chunk at a time.
    """
    fitted = min(_FITTED, max(2, _FITTED_BYTES // (4 * max(1, width))))
    sample = rows if len(rows) <= fitted else tagged_generator(0, "map axes").choice(rows, fitted, replace=False)
    axes = PrincipalAxes.fit(fetch(np.sort(sample)))
    points = np.empty((len(rows), 2))
    for chunk in row_chunks(len(rows), 8 * max(1, width), _CHUNK_BYTES):
        points[chunk] = axes.place(fetch(rows[chunk]))
    return to_unit_square(points), axes.explained


def encode(points: Float64s, given: Ints) -> dict[str, Any]:
    """Positions and class codes of the points, as the page reads them."""
    x, y = np.round(points * _STEPS).astype("<u2").T
    return {"n_points": len(points), "x": packed(x), "y": packed(y), "given": packed(small(given))}


def small(codes: Ints) -> Array:
    """Codes from 0, in the smallest unsigned type that holds them; the page finds out which it is."""
    highest = int(codes.max(initial=0))
    return codes.astype("u1" if highest < 1 << 8 else "<u2" if highest < 1 << 16 else "<u4")


def packed(values: Array) -> str:
    """The bytes of an array, as base64."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode()
