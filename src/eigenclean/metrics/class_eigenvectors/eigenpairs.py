"""Leading eigenpairs of a class's Σ z zᵀ, and the angle between two eigenvectors."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from eigenclean.arrays import Array, Float64s
from eigenclean.errors import InvalidData
from eigenclean.moments import top_eigenpairs_dense

_DENSE = 200  # up to this order, a full decomposition costs about as much as a few eigenpairs


def leading_eigenpairs(rows: Array, k: int) -> tuple[Float64s, Float64s]:
    """The ``k`` largest eigenvalues of Σ z zᵀ over the rows, or as many as there are, and their eigenvectors.

    >>> leading_eigenpairs(np.array([[3.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), 2)[0]
    array([9., 1.])
    """
    block = rows.astype(np.float64, copy=False)
    n, d = block.shape
    if n >= d:
        values, vectors = largest_eigenpairs(block.T @ block, k)
        return np.maximum(values, 0.0), vectors
    # The n x n Gram matrix has the same non-zero eigenvalues, and its eigenvectors give those of Σ z zᵀ.
    values, weights = largest_eigenpairs(block @ block.T, k)
    vectors = weights @ block
    return np.maximum(values, 0.0), vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)


def largest_eigenpairs(matrix: Float64s, k: int) -> tuple[Float64s, Float64s]:
    """The ``k`` largest eigenvalues of a symmetric matrix, largest first, and their eigenvectors as rows."""
    order = len(matrix)
    if order <= _DENSE or k > order // 8:
        return top_eigenpairs_dense(matrix, k)
    start = np.random.default_rng(0).standard_normal(order)  # a fixed start: equal matrices give equal eigenvectors
    try:
        values, vectors = eigsh(matrix, k=k, which="LA", v0=start)
    except ArpackNoConvergence:
        return top_eigenpairs_dense(matrix, k)
    largest = np.argsort(values)[::-1]
    return values[largest], vectors[:, largest].T


def perturbation(u: ArrayLike, v: ArrayLike) -> Float64s:
    """‖uuᵀ − vvᵀ‖₂ = √(1 − ⟨u, v⟩²): the sine of the angle between two directions.

    Their lengths and signs do not matter. Stacks of vectors give one number for each pair.

    >>> round(float(perturbation([1.0, 0.0], [1.0, 1.0])), 4)
    0.7071
    """
    first, second = _units(u, "u"), _units(v, "v")
    if first.shape[-1] != second.shape[-1]:
        raise InvalidData(
            f"perturbation: u and v must have equal length, got {first.shape[-1]} and {second.shape[-1]}"
        )
    # The component of v orthogonal to u: unlike √(1 − ⟨u, v⟩²), it stays exact for nearly equal directions.
    residual = second - np.vecdot(first, second)[..., None] * first
    return np.asarray(np.minimum(np.linalg.norm(residual, axis=-1), 1.0))


def _units(vectors: ArrayLike, name: str) -> Float64s:
    array = np.asarray(vectors, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InvalidData(f"perturbation: {name} must be a vector, got shape {array.shape}")
    lengths = np.linalg.norm(array, axis=-1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise InvalidData(f"perturbation: {name} must be finite and not zero, or it has no direction")
    return np.asarray(array / lengths)
