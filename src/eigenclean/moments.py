"""Per-class sums that add up, and the leading eigenvector of a class with or without them.

Two ways lead to the first eigenvector of a class's Gram matrix Σ z zᵀ:

* `top_eigenpair` of the class's rows themselves, by a Lanczos iteration that only multiplies rows with vectors. It
  never forms the d x d matrix, so its cost is a few reads of the rows: the fast way when all rows are at hand.
* `ClassMoments`, which keeps Σ z zᵀ for every class. It costs d multiplications per number once, but sums of
  pieces are the sum of the whole: data can come in parts, from several machines, and be taken away again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from eigenclean.arrays import Array, ClassRows, Float64s, Ints, gather, row_chunks, working_dtype
from eigenclean.errors import InvalidData, InvalidOption

_DENSE = 64  # up to this order, a dense eigensolver is faster than any iteration
_CACHED = 1 << 21  # bytes of rows that stay in the cache between two multiplications
_KRYLOV = 48  # Lanczos vectors before a restart
_USUAL = 8  # those that are usually needed, allocated at first
_RESTARTS = 6
_GENERIC = 0.002  # share of a random direction in the start vector
_TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}  # residual relative to the eigenvalue


def top_eigenpair(rows: Array, weights: Array | None = None) -> tuple[float, Float64s]:
    """Largest eigenvalue of Σ wᵢ zᵢ zᵢᵀ over the given rows, and its unit eigenvector.

    The sign is chosen so that the entries sum to at least zero. No rows, or only zeros, give (0, 0).

    >>> value, vector = top_eigenpair(np.array([[3.0, 0.0], [0.0, 1.0]]))
    >>> value, vector
    (9.0, array([1., 0.]))
    """
    n, d = rows.shape
    rows = rows.astype(working_dtype(rows.dtype), copy=False)
    if n == 0:
        return 0.0, np.zeros(d)
    if min(n, d) <= _DENSE:
        block = rows.astype(np.float64)
        if weights is not None:
            block *= np.sqrt(weights)[:, None]
        return _dense_from_rows(block)

    def multiply(vector: Array) -> Array:
        product = np.zeros(d)
        for chunk in row_chunks(n, d * rows.itemsize, _CACHED):  # read from memory once, multiplied twice
            inner = rows[chunk] @ vector
            if weights is not None:
                inner *= weights[chunk]
            product += inner @ rows[chunk]
        return product

    # The mean is nearly the first eigenvector of uncentred data, and that of some rows is nearly the mean: a start
    # that saves most of the rounds.
    first_rows = slice(0, start_rows(d, rows.dtype))
    start = (
        rows[first_rows].sum(axis=0)
        if weights is None
        else weights[first_rows].astype(rows.dtype) @ rows[first_rows]
    )
    return _lanczos(multiply, start)


def start_rows(d: int, dtype: np.dtype[Any]) -> int:
    """From how many rows of a class the iteration takes its start."""
    return max(1, _CACHED // max(1, d * dtype.itemsize))


def is_small(n: int, d: int) -> bool:
    """Whether `top_eigenpair` solves a class of ``n`` rows directly instead of iterating."""
    return min(n, d) <= _DENSE


def eigenpair_by_start(gram: Float64s, start: Array) -> tuple[float, Float64s]:
    """Largest eigenpair of a Gram matrix; where `top_eigenpair` would iterate, by the same steps from ``start``.

    The precision of ``start`` says how precise it is to be.
    """
    if len(gram) <= _DENSE:
        values, vectors = top_eigenpairs_dense(gram)
        return max(float(values[0]), 0.0), vectors[0] if values[0] > 0 else np.zeros(len(gram))
    return _lanczos(lambda v: np.asarray(gram @ v), start)


def top_eigenpairs_dense(gram: Float64s, k: int = 1) -> tuple[Float64s, Float64s]:
    """The ``k`` largest eigenvalues of a symmetric matrix, largest first, and their eigenvectors as rows.

    >>> top_eigenpairs_dense(np.diag([1.0, 4.0]), k=2)[0]
    array([4., 1.])
    """
    values, vectors = np.linalg.eigh(gram)
    order = np.argsort(values)[::-1][:k]
    return values[order], np.stack([_fix_sign(vectors[:, i]) for i in order])


@dataclass(frozen=True)
class ClassMoments:
    """Counts, sums and second moments of every class; moments of disjoint data add up, and subtract.

    Attributes:
        classes: sorted labels.
        counts: rows per class (weights per class, when weighted).
        sums: K x d, Σ z.
        seconds: K x d x d, Σ z zᵀ, in float64.

    >>> z = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> a = ClassMoments.of(z[:1], np.array([0]), np.array(["x"]))
    >>> b = ClassMoments.of(z[1:], np.array([0]), np.array(["x"]))
    >>> (a + b).seconds[0]
    array([[1., 0.],
           [0., 4.]])
    """

    classes: Array
    counts: Float64s
    sums: Float64s
    seconds: Float64s

    @classmethod
    def of(cls, features: Array, codes: Ints, classes: Array, weights: Array | None = None) -> "ClassMoments":
        """Moments of the rows, whose class is ``classes[codes]``."""
        moments = cls.none(classes, features.shape[1])
        moments.add(features, codes, weights)
        return moments

    @classmethod
    def none(cls, classes: Array, d: int) -> "ClassMoments":
        """Moments of no rows at all."""
        k = len(classes)
        return cls(classes, np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d)))

    def add(self, features: Array, codes: Ints, weights: Array | None = None) -> None:
        """Add rows, in place."""
        counts, sums, seconds = self.counts, self.sums, self.seconds
        k, d = sums.shape
        dtype = working_dtype(features.dtype)
        by_class = ClassRows.of(codes, k)
        for j in np.flatnonzero(by_class.counts).tolist():
            rows = by_class[j]
            for chunk in row_chunks(len(rows), d * dtype.itemsize):
                block = gather(features, rows[chunk], dtype)
                weight = None if weights is None else weights[rows[chunk]].astype(np.float64)
                counts[j] += len(block) if weight is None else weight.sum()
                scaled = block if weight is None else block * np.sqrt(weight).astype(dtype)[:, None]
                sums[j] += block.sum(axis=0, dtype=np.float64) if weight is None else weight @ block
                seconds[j] += scaled.T @ scaled  # products in the data's precision, sums in float64

    @property
    def n_features(self) -> int:
        """Columns of the features."""
        return int(self.sums.shape[1])

    def __add__(self, other: "ClassMoments") -> "ClassMoments":
        return self._combine(other, 1.0)

    def __sub__(self, other: "ClassMoments") -> "ClassMoments":
        return self._combine(other, -1.0)

    def without(self, other: "ClassMoments") -> "ClassMoments":
        """These moments less those of some of the rows; classes that are empty then are gone.

        >>> z, codes, classes = np.eye(3), np.array([0, 0, 1]), np.array(["x", "y"])
        >>> whole = ClassMoments.of(z, codes, classes)
        >>> whole.without(ClassMoments.of(z[2:], np.array([0]), np.array(["y"]))).classes
        array(['x'], dtype='<U1')
        """
        rest = self - other
        if (rest.counts < -1e-6).any():
            odd = rest.classes[int(np.argmin(rest.counts))].item()
            raise InvalidData(f"moments: more samples of class {odd!r} are taken out than there are")
        is_present = rest.counts > 1e-6
        return ClassMoments(
            rest.classes[is_present], rest.counts[is_present], rest.sums[is_present], rest.seconds[is_present]
        )

    def _combine(self, other: "ClassMoments", sign: float) -> "ClassMoments":
        if self.n_features != other.n_features:
            raise InvalidData(
                f"moments of {self.n_features} and of {other.n_features} features cannot be combined; "
                "use features of the same encoder"
            )
        if (self.classes.dtype.kind in "US") != (other.classes.dtype.kind in "US"):
            raise InvalidData(
                f"moments of labels of type {self.classes.dtype} and of type {other.classes.dtype} "
                "cannot be combined; use the same labels"
            )
        classes = np.union1d(self.classes, other.classes)
        total = ClassMoments(
            classes,
            np.zeros(len(classes)),
            np.zeros((len(classes), self.n_features)),
            np.zeros((len(classes), self.n_features, self.n_features)),
        )
        for moments, factor in ((self, 1.0), (other, sign)):
            positions = np.searchsorted(classes, moments.classes)
            total.counts[positions] += factor * moments.counts
            total.sums[positions] += factor * moments.sums
            total.seconds[positions] += factor * moments.seconds
        return total


def class_vector(
    moments: ClassMoments, k: int, vector: str = "eigen", component: int = 1
) -> tuple[float, Float64s]:
    """The unit vector of class ``k`` and its eigenvalue, from moments.

    ``vector="mean"`` gives the direction of the mean instead, with its squared length.
    """
    if vector == "mean":
        mean = moments.sums[k] / max(moments.counts[k], 1e-300)
        length = float(np.linalg.norm(mean))
        return length**2, mean / length if length > 0 else mean
    gram = moments.seconds[k]
    if component > len(gram):
        raise InvalidOption(f"component must be at most the number of features, {len(gram)}, got {component}")
    if component == 1 and len(gram) > _DENSE:
        return _lanczos(lambda v: np.asarray(gram @ v), moments.sums[k])
    values, vectors = top_eigenpairs_dense(gram, component)
    value = max(float(values[-1]), 0.0)
    return value, vectors[-1] if values[0] > 0 else np.zeros(len(gram))


def _lanczos(multiply: Callable[[Array], Array], start: Array) -> tuple[float, Float64s]:
    """Largest eigenpair of a positive semidefinite operator, given only how it multiplies a vector."""
    iteration = LanczosIteration(start)
    while not iteration.done:
        iteration.update(multiply(iteration.vector))
    return iteration.eigenpair


class LanczosIteration:
    """Largest eigenpair of a positive semidefinite operator, from images of vectors that the caller computes.

    The caller multiplies `vector` with the operator and passes the image to `update`, until `done`. So the vectors
    of many classes can be multiplied in one pass over the data. The Krylov space of the start is grown until the
    residual of its best approximation is small, or restarted from that approximation when it has become too large.

    Args:
        start: the start vector; its precision says how precise the result is to be.
    """

    _basis: Float64s
    _projected: Float64s
    _size: int

    def __init__(self, start: Array) -> None:
        self._dtype = start.dtype
        self._tolerance = _TOLERANCE[self._dtype]
        # The start may be orthogonal to the eigenvector (rows that cancel out), and all its images with it; with a
        # small generic component it is not.
        vector = np.asarray(start, dtype=np.float64)
        length = np.linalg.norm(vector)
        self._max_size = min(_KRYLOV, len(vector))
        self._runs = 0
        self.done = False
        self.eigenpair: tuple[float, Float64s] = 0.0, np.zeros(len(vector))
        self._begin(_GENERIC * _generic_direction(len(vector)) + (vector / length if length > 0 else 0.0))

    @property
    def vector(self) -> Array:
        """The vector whose image `update` needs next, in the precision of the start."""
        return np.asarray(self._basis[self._size], dtype=self._dtype).copy()

    def update(self, image: Array) -> None:
        """Take the image of `vector`, and extend the Krylov space by it."""
        image = np.array(image, dtype=np.float64)
        m = self._size
        if m + 1 == len(self._basis):  # rarely; with thousands of classes there is no room for unused vectors
            grown = np.empty((self._max_size + 1 - len(self._basis), self._basis.shape[1]))
            self._basis = np.concatenate([self._basis, grown])
        basis = self._basis[: m + 1]
        inner = basis @ image
        image -= inner @ basis
        correction = basis @ image  # orthogonalised twice: once is not enough in floating point
        image -= correction @ basis
        self._projected[: m + 1, m] = inner + correction
        self._projected[m, : m + 1] = self._projected[: m + 1, m]
        residual = float(np.linalg.norm(image))
        values, vectors = np.linalg.eigh(self._projected[: m + 1, : m + 1])
        value, weights = float(values[-1]), vectors[:, -1]
        if residual * abs(weights[-1]) <= self._tolerance * value or residual == 0.0:
            self._finish(value, weights @ basis)
            return
        self._basis[m + 1] = image / residual
        self._size += 1
        if self._size == self._max_size:
            approximation = weights @ self._basis[:-1]
            if self._runs < _RESTARTS:
                self._begin(approximation)
            else:
                self._finish(value, approximation)

    def _begin(self, vector: Float64s) -> None:
        self._basis = np.empty((min(_USUAL, self._max_size) + 1, len(vector)))
        self._basis[0] = vector / np.linalg.norm(vector)
        self._projected = np.zeros((self._max_size, self._max_size))
        self._size = 0
        self._runs += 1

    def _finish(self, value: float, vector: Float64s) -> None:
        if value > 0.0:
            self.eigenpair = value, _fix_sign(vector / np.linalg.norm(vector))
        self.done = True


@lru_cache(maxsize=4)  # one per number of features, needed for every class
def _generic_direction(d: int) -> Float64s:
    vector = np.random.default_rng(0).standard_normal(d)
    return np.asarray(vector / np.linalg.norm(vector))


def _dense_from_rows(block: Float64s) -> tuple[float, Float64s]:
    """Through the smaller of the two Gram matrices, rows x rows or columns x columns."""
    n, d = block.shape
    if n >= d:
        values, vectors = top_eigenpairs_dense(block.T @ block)
        return max(float(values[0]), 0.0), vectors[0] if values[0] > 0 else np.zeros(d)
    values, vectors = top_eigenpairs_dense(block @ block.T)
    vector = vectors[0] @ block
    norm = float(np.linalg.norm(vector))
    return (norm**2, _fix_sign(vector / norm)) if norm > 0 else (0.0, np.zeros(d))


def _fix_sign(vector: Float64s) -> Float64s:
    return -vector if vector.sum() < 0 else vector
