"""Features, given labels and which of them are right, checked and class by class."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from eigenclean.arrays import (
    Array,
    Bools,
    ClassRows,
    Float64s,
    check_features,
    check_labels,
    encode_labels,
    gather,
    working_dtype,
)
from eigenclean.metrics.calibration import check_mask
from eigenclean.moments import top_eigenpairs_dense

_DENSE = 200  # up to this order, a few eigenvectors cost about as much as all of them


@dataclass(frozen=True, eq=False)
class Classes:
    """Samples by their given class."""

    features: Array
    names: Array
    rows: ClassRows
    is_clean: Bools

    @classmethod
    def of(cls, features: ArrayLike, labels: ArrayLike, is_clean: ArrayLike | None = None, *, by: str) -> "Classes":
        """Check and sort; without ``is_clean`` all labels count as right."""
        table = check_features(features, by=by)
        names, codes = encode_labels(check_labels(labels, by=by, n_rows=len(table)))
        n = len(table)
        clean = np.ones(n, dtype=bool) if is_clean is None else check_mask(is_clean, n, by=by, what="is_clean")
        return cls(table, names, ClassRows.of(codes, len(names)), clean)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[Array, Bools]]:
        """The features of each class, one block at a time, and which of its labels are right."""
        dtype = working_dtype(self.features.dtype)
        for k in range(len(self)):
            yield gather(self.features, self.rows[k], dtype), self.is_clean[self.rows[k]]


def leading_eigenpairs(rows: Array, k: int) -> tuple[Float64s, Float64s]:
    """The ``k`` largest eigenvalues of Σ z zᵀ over the rows, or as many as there are, and their eigenvectors.

    >>> leading_eigenpairs(np.array([[3.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), 2)[0]
    array([9., 1.])
    """
    block = rows.astype(np.float64, copy=False)
    n, d = block.shape
    if n >= d:
        values, vectors = leading_of(block.T @ block, k)
        return np.maximum(values, 0.0), vectors
    # The smaller of the two Gram matrices has the same eigenvalues, and leads to the same vectors.
    values, weights = leading_of(block @ block.T, k)
    vectors = weights @ block
    return np.maximum(values, 0.0), vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)


def leading_of(matrix: Float64s, k: int) -> tuple[Float64s, Float64s]:
    """The ``k`` largest eigenvalues of a symmetric matrix, largest first, and their eigenvectors as rows."""
    order = len(matrix)
    if order <= _DENSE or k > order // 8:
        return top_eigenpairs_dense(matrix, k)
    start = np.random.default_rng(0).standard_normal(order)  # equal matrices have equal eigenvectors
    try:
        values, vectors = eigsh(matrix, k=k, which="LA", v0=start)
    except ArpackNoConvergence:
        return top_eigenpairs_dense(matrix, k)
    largest = np.argsort(values)[::-1]
    return values[largest], vectors[:, largest].T
