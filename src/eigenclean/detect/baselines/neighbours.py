"""Nearest neighbours by cosine, and what the detectors that ask them have in common."""

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigenclean.arrays import Array, Bools, Float64s, Ints, row_chunks
from eigenclean.detect.base import Detector
from eigenclean.detect.cuts import Cut, FixedCut
from eigenclean.errors import InvalidOption
from eigenclean.progress import track

Float32s = NDArray[np.float32]

_SPARE = 5  # more candidates than asked for: their exact distances settle what single precision cannot
_COINCIDES = 1e-6  # distance of unit vectors that are the same row
_QUERIES = 1 << 12  # rows per search


@dataclass(frozen=True)
class Found:
    """The neighbours of some rows, nearest first, none of them the row itself.

    Attributes:
        index: n x k, positions among the training rows.
        distance: n x k, 1 − cosine.
        own: n, the training row that each row is itself; -1 when it is a new one.
    """

    index: Ints
    distance: Float64s
    own: Ints


class Neighbours:
    """The training rows as unit vectors, in which the nearest ones of any rows are found.

    scikit-learn's brute-force search works in blocks and never holds an n x n matrix; on unit vectors the euclidean
    order is the cosine's. The distances of the few candidates are then computed again, pair by pair, so that they
    depend neither on the order of the rows nor on the block. Equal distances are settled by the label.

    A row that coincides with a training row is that row, and not its own neighbour: row i of the training rows
    themselves is row i; of other rows, one coinciding training row is taken out, one of the same label if any.

    >>> X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 2.0], [0.1, 1.0]])
    >>> found = Neighbours.of(X, np.array([0, 0, 1, 1])).find_own(k=2)
    >>> found.index
    array([[1, 3],
           [0, 3],
           [3, 1],
           [2, 1]])
    """

    def __init__(self, rows: Float32s, codes: Ints) -> None:
        self.rows = rows
        self.codes = codes
        self._last: tuple[tuple[Any, ...], Found] | None = None

    @classmethod
    def of(cls, X: Array, codes: Ints) -> "Neighbours":
        """The rows of X, scaled to length 1, with their labels as numbers."""
        return cls(unit_rows(X), codes)

    def among(self, mask: Bools) -> "Neighbours":
        """Some of the training rows alone."""
        return Neighbours(self.rows[mask], self.codes[mask])

    def find_own(self, k: int) -> Found:
        """The ``k`` nearest other training rows of each training row."""
        return self._answer(self.rows, self.codes, k)

    def find(self, X: Array, codes: Ints, k: int) -> Found:
        """The ``k`` nearest training rows of each row (fewer when there are no more), the row itself excepted.

        The last answer is kept: a detector asks for the same rows when it learns, scores and suggests.
        """
        return self._answer(unit_rows(X), codes, k)

    def _answer(self, rows: Float32s, codes: Ints, k: int) -> Found:
        same = rows is self.rows or np.array_equal(rows, self.rows)
        key = (k, *(() if same else (_checksum(rows), _checksum(codes))))
        if self._last is None or self._last[0] != key:
            self._last = key, self._find(rows, codes, min(k, len(self.rows) - 1), same)
        return self._last[1]

    def _find(self, rows: Float32s, codes: Ints, k: int, same: bool) -> Found:
        found = Found(
            np.empty((len(rows), k), np.intp), np.empty((len(rows), k)), np.full(len(rows), -1, dtype=np.intp)
        )
        from sklearn.neighbors import NearestNeighbors  # a tenth of a second that other detectors need not pay

        most = min(k + 1 + _SPARE, len(self.rows))
        search = NearestNeighbors(n_neighbors=most, algorithm="brute", metric="euclidean").fit(self.rows)
        parts = list(row_chunks(len(rows), 1, _QUERIES))
        for part in track(parts, "neighbours", [part.stop - part.start for part in parts]):
            near = np.asarray(search.kneighbors(rows[part], return_distance=False), dtype=np.intp)
            squared = self._squared_distances(rows[part], near)
            labels = self.codes[near]
            if same:
                is_self = near == np.arange(part.start, part.stop)[:, None]
            else:
                is_self = _one_of(squared <= _COINCIDES**2, labels == codes[part, None])
            order = np.lexsort((labels, np.where(is_self, -1.0, squared)), axis=1)
            has_self = is_self.any(axis=1)
            own = np.take_along_axis(near, order[:, :1], axis=1)[:, 0]
            found.own[part] = np.where(has_self, own, -1)
            order = np.take_along_axis(order, has_self[:, None].astype(np.intp) + np.arange(k), axis=1)
            found.index[part] = np.take_along_axis(near, order, axis=1)
            found.distance[part] = 0.5 * np.take_along_axis(squared, order, axis=1)
        return found

    def _squared_distances(self, rows: Float32s, near: Ints) -> Float64s:
        squared = np.empty(near.shape)
        for part in row_chunks(len(rows), near.shape[1] * rows.shape[1] * 4, 1 << 21):
            apart = self.rows[near[part]]
            apart -= rows[part, None]
            squared[part] = np.vecdot(apart, apart)
        return squared


class NeighbourDetector(Detector):
    """A detector that keeps the training rows and asks the nearest ones; cuts at a place of its own.

    ``cut="fixed"`` cuts at ``_boundary``. Classes that are too small, or whose features are all the same, cannot be
    judged by their neighbours and are kept whole.
    """

    _boundary: float = 0.5
    _neighbours: Neighbours
    _weight: Float64s
    _featureless: Bools
    _shares: Float64s

    def _remember(self, X: Array, codes: Ints, weight: Float64s | None) -> None:
        k = len(self.classes_)
        there = np.arange(len(X)) if weight is None else np.flatnonzero(weight)
        self._neighbours = Neighbours.of(X if weight is None else X[there], codes[there])
        self._weight = np.ones(len(X)) if weight is None else weight[there] / weight.max()
        self._featureless = _constant(self._neighbours.rows, codes[there], k)
        counts = np.bincount(codes[there], minlength=k)
        self._shares = counts / counts.sum()

    _fewest: ClassVar[int] = 10  # as by the mixture cuts

    def _own_cut(self) -> Cut | None:
        return FixedCut(at=self._boundary) if self.cut == "fixed" else None

    def _undecidable(self, cut: Cut) -> Bools:
        return self._featureless

    def _votes(self, found: Found, part: slice | Ints) -> Float64s:
        """For some of the rows, the votes of their neighbours for each class: cosines, and a little for all."""
        labels = self._neighbours.codes[found.index[part]]
        weight = np.maximum(1.0 - found.distance[part], _COINCIDES) * self._weight[found.index[part]]
        return sums_by_label(labels, weight, len(self.classes_))

    def _suggest_from(self, found: Found, codes: Ints, rows: Ints) -> tuple[Ints, Float64s]:
        """The class with most votes but the given one; without a vote for any, the largest."""
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        for part in row_chunks(len(rows), len(self.classes_) * 24):
            votes = self._votes(found, rows[part]) + 1e-3 * self._shares
            votes[np.arange(len(votes)), codes[rows[part]]] = 0.0
            best[part] = votes.argmax(axis=1)
            share[part] = votes.max(axis=1) / np.maximum(votes.sum(axis=1), 1e-300)
        return best, share


def unit_rows(X: Array) -> Float32s:
    """The rows scaled to length 1, in float32; rows of zeros stay zeros.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    rows = np.empty(X.shape, np.float32)
    for part in row_chunks(len(X), X.shape[1] * 8, 1 << 21):
        block = X[part].astype(np.float64)
        largest = np.abs(block).max(axis=1, keepdims=True)
        block /= np.where(largest > 0, largest, 1.0)  # squares of very large or small numbers would not be finite
        length = np.sqrt(np.vecdot(block, block))[:, None]
        rows[part] = block / np.where(length > 0, length, 1.0)
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


def _one_of(coincides: Bools, agrees: Bools) -> Bools:
    """In each row, the first candidate that coincides and agrees, else the first that coincides, else none."""
    preference = coincides.astype(np.int8) + (coincides & agrees)
    return np.asarray(coincides & (np.arange(coincides.shape[1]) == preference.argmax(axis=1)[:, None]))


def _constant(rows: Float32s, codes: Ints, k: int) -> Bools:
    """Which classes have but one feature vector."""
    first = np.full(k, -1, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    differs = np.zeros(k, dtype=bool)
    for part in row_chunks(len(rows), rows.shape[1] * 4):
        apart = np.abs(rows[part] - rows[first[codes[part]]]).max(axis=1) > _COINCIDES
        differs[codes[part][apart]] = True
    return ~differs


def _checksum(array: Array) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).digest()
