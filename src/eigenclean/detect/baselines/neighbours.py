"""Nearest neighbours by cosine or Euclidean distance, and the base of the detectors that use them."""

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from eigenclean.arrays import Array, Bools, Float64s, Ints, row_chunks
from eigenclean.detect.base import Detector
from eigenclean.detect.cuts import Cut, FixedCut
from eigenclean.errors import InvalidOption
from eigenclean.progress import track

Float32s = NDArray[np.float32]
Metric = Literal["cosine", "euclidean"]
METRICS = ("cosine", "euclidean")

_SPARE = 5  # extra candidates: exact distances decide the order that single precision leaves open
_COINCIDES = 1e-6  # distance of unit vectors that are the same row
_QUERIES = 1 << 12  # rows per search


@dataclass(frozen=True)
class Neighbours:
    """The neighbours of some rows, nearest first, none of them the row itself.

    Attributes:
        index: n x k, positions among the training rows.
        distance: n x k, 1 − cosine; for Euclidean distances half of their squares, in units of the largest entry.
        self_index: n, the training row that each row coincides with; -1 for a new row.
    """

    index: Ints
    distance: Float64s
    self_index: Ints


class NeighbourIndex:
    """An index of the training rows, which finds the nearest ones of any rows, by cosine unless told otherwise.

    scikit-learn's brute-force search works in blocks and never holds an n x n matrix; on unit vectors the euclidean
    order is the cosine's. The distances of the few candidates are then computed again, pair by pair, so that they
    depend neither on the order of the rows nor on the block. Ties are ordered by the label.

    A row that coincides with a training row is that row, and not its own neighbour: row i of the training rows
    themselves is row i; of other rows, one coinciding training row is taken out, one of the same label if any.

    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 2.0], [0.1, 1.0]])
    >>> nearest = NeighbourIndex.of(X, np.array([0, 0, 1, 1])).find_within(k=2)
    >>> nearest.index
    array([[1, 3],
           [0, 3],
           [3, 1],
           [2, 1]])
    """

    def __init__(self, rows: Float32s, codes: Ints, scale: float | None = None) -> None:
        self.rows = rows
        self.codes = codes
        self._scale = scale  # that Euclidean rows are divided by; None for unit vectors
        self._last_query: tuple[tuple[Any, ...], Neighbours] | None = None

    @classmethod
    def of(cls, X: Array, codes: Ints, metric: Metric = "cosine") -> "NeighbourIndex":
        """The rows of X with their labels as numbers; for cosines the rows are scaled to length 1."""
        if metric == "cosine":
            return cls(unit_rows(X), codes)
        # All rows are divided by one number, which changes no order: squares of large numbers would not be finite.
        scale = max((float(np.abs(X[chunk]).max()) for chunk in row_chunks(len(X), X.shape[1] * 8)), default=0.0)
        return cls(_divided_rows(X, scale or 1.0), codes, scale or 1.0)

    def among(self, mask: Bools) -> "NeighbourIndex":
        """An index of some of the training rows."""
        return NeighbourIndex(self.rows[mask], self.codes[mask], self._scale)

    def find_within(self, k: int) -> Neighbours:
        """The ``k`` nearest other training rows of each training row."""
        return self._find_cached(self.rows, self.codes, k)

    def find(self, X: Array, codes: Ints, k: int) -> Neighbours:
        """The ``k`` nearest training rows of each row (fewer when there are no more), the row itself excepted.

        The last result is cached: a detector needs that of the same rows when it learns, scores and suggests.
        """
        rows = unit_rows(X) if self._scale is None else _divided_rows(X, self._scale)
        return self._find_cached(rows, codes, k)

    def _find_cached(self, rows: Float32s, codes: Ints, k: int) -> Neighbours:
        same = rows is self.rows or np.array_equal(rows, self.rows)
        key = (k, *(() if same else (_checksum(rows), _checksum(codes))))
        if self._last_query is None or self._last_query[0] != key:
            self._last_query = key, self._find(rows, codes, min(k, len(self.rows) - 1), same)
        return self._last_query[1]

    def _find(self, rows: Float32s, codes: Ints, k: int, same: bool) -> Neighbours:
        result = Neighbours(
            np.empty((len(rows), k), np.intp), np.empty((len(rows), k)), np.full(len(rows), -1, dtype=np.intp)
        )
        from sklearn.neighbors import NearestNeighbors  # takes 0.1 s, which other detectors need not wait for

        most = min(k + 1 + _SPARE, len(self.rows))
        search = NearestNeighbors(n_neighbors=most, algorithm="brute", metric="euclidean").fit(self.rows)
        chunks = list(row_chunks(len(rows), 1, _QUERIES))
        for chunk in track(chunks, "neighbours", [chunk.stop - chunk.start for chunk in chunks]):
            near = np.asarray(search.kneighbors(rows[chunk], return_distance=False), dtype=np.intp)
            squared = self._squared_distances(rows[chunk], near)
            labels = self.codes[near]
            if same:
                is_self = near == np.arange(chunk.start, chunk.stop)[:, None]
            else:
                is_self = _self_among(squared <= _COINCIDES**2, labels == codes[chunk, None])
            order = np.lexsort((labels, np.where(is_self, -1.0, squared)), axis=1)
            has_self = is_self.any(axis=1)
            nearest = np.take_along_axis(near, order[:, :1], axis=1)[:, 0]
            result.self_index[chunk] = np.where(has_self, nearest, -1)
            order = np.take_along_axis(order, has_self[:, None].astype(np.intp) + np.arange(k), axis=1)
            result.index[chunk] = np.take_along_axis(near, order, axis=1)
            result.distance[chunk] = 0.5 * np.take_along_axis(squared, order, axis=1)
        return result

    def _squared_distances(self, rows: Float32s, near: Ints) -> Float64s:
        squared = np.empty(near.shape)
        for chunk in row_chunks(len(rows), near.shape[1] * rows.shape[1] * 4, 1 << 21):
            difference = self.rows[near[chunk]]
            difference -= rows[chunk, None]
            squared[chunk] = np.vecdot(difference, difference)
        return squared


class NeighbourDetector(Detector):
    """A detector that stores the training rows and scores labels by those of the nearest ones.

    ``cut="fixed"`` cuts at ``_boundary``. Classes that are too small, or whose features are all the same, cannot be
    judged by their neighbours and are kept whole.
    """

    _boundary: float = 0.5
    _neighbours: NeighbourIndex
    _weight: Float64s
    _featureless: Bools
    _shares: Float64s

    def _store_training_rows(
        self, X: Array, codes: Ints, weight: Float64s | None, metric: Metric = "cosine"
    ) -> None:
        k = len(self.classes_)
        weighted = np.arange(len(X)) if weight is None else np.flatnonzero(weight)
        self._neighbours = NeighbourIndex.of(X if weight is None else X[weighted], codes[weighted], metric)
        self._weight = np.ones(len(X)) if weight is None else weight[weighted] / weight.max()
        self._featureless = _constant(self._neighbours.rows, codes[weighted], k)
        counts = np.bincount(codes[weighted], minlength=k)
        self._shares = counts / counts.sum()

    _min_class_size: ClassVar[int] = 10  # as in the mixture cuts

    def _method_cut(self) -> Cut | None:
        return FixedCut(at=self._boundary) if self.cut == "fixed" else None

    def _undecidable(self, cut: Cut) -> Bools:
        return self._featureless

    def _votes(self, neighbours: Neighbours, chunk: slice | Ints) -> Float64s:
        """For some of the rows, the votes of their neighbours for each class, weighted by cosine."""
        labels = self._neighbours.codes[neighbours.index[chunk]]
        weight = np.maximum(1.0 - neighbours.distance[chunk], _COINCIDES) * self._weight[neighbours.index[chunk]]
        return sums_by_label(labels, weight, len(self.classes_))

    def _suggest_from(self, neighbours: Neighbours, codes: Ints, rows: Ints) -> tuple[Ints, Float64s]:
        """The other class with most votes; without a vote for any, the largest one."""
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        for chunk in row_chunks(len(rows), len(self.classes_) * 24):
            votes = self._votes(neighbours, rows[chunk]) + 1e-3 * self._shares
            votes[np.arange(len(votes)), codes[rows[chunk]]] = 0.0
            best[chunk] = votes.argmax(axis=1)
            share[chunk] = votes.max(axis=1) / np.maximum(votes.sum(axis=1), 1e-300)
        return best, share


def unit_rows(X: Array) -> Float32s:
    """The rows scaled to length 1, in float32; rows of zeros stay zeros.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    rows = np.empty(X.shape, np.float32)
    for chunk in row_chunks(len(X), X.shape[1] * 8, 1 << 21):
        block = X[chunk].astype(np.float64)
        largest = np.abs(block).max(axis=1, keepdims=True)
        block /= np.where(largest > 0, largest, 1.0)  # squares of very large or small numbers would not be finite
        length = np.sqrt(np.vecdot(block, block))[:, None]
        rows[chunk] = block / np.where(length > 0, length, 1.0)
    return rows


def _divided_rows(X: Array, scale: float) -> Float32s:
    rows = np.empty(X.shape, np.float32)
    for chunk in row_chunks(len(X), X.shape[1] * 8, 1 << 21):
        rows[chunk] = X[chunk].astype(np.float64) / scale
    return rows


def sums_by_label(labels: Ints, weight: Float64s, n_classes: int) -> Float64s:
    """n x K, the weights of each row summed by label.

    >>> sums_by_label(np.array([[0, 2, 0]]), np.array([[1.0, 2.0, 3.0]]), 3)
    array([[4., 0., 2.]])
    """
    n = len(labels)
    cells = labels + n_classes * np.arange(n)[:, None]
    sums = np.bincount(cells.ravel(), weight.ravel(), n * n_classes)
    return np.asarray(sums.reshape(n, n_classes), dtype=np.float64)


def check_count(value: Any, least: int, *, by: str, what: str) -> None:
    """Raise `InvalidOption` unless ``value`` is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidOption(f"{by}: {what} must be a whole number of at least {least}, got {value!r}")


def _self_among(coincides: Bools, agrees: Bools) -> Bools:
    """In each row, the first candidate that coincides and agrees, else the first that coincides, else none."""
    preference = coincides.astype(np.int8) + (coincides & agrees)
    return np.asarray(coincides & (np.arange(coincides.shape[1]) == preference.argmax(axis=1)[:, None]))


def _constant(rows: Float32s, codes: Ints, k: int) -> Bools:
    """Which classes have only one distinct feature vector."""
    first = np.full(k, -1, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    differs = np.zeros(k, dtype=bool)
    for chunk in row_chunks(len(rows), rows.shape[1] * 4):
        distinct = np.abs(rows[chunk] - rows[first[codes[chunk]]]).max(axis=1) > _COINCIDES
        differs[codes[chunk][distinct]] = True
    return ~differs


def _checksum(array: Array) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).digest()
