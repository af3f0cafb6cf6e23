"""How far one direction is from another."""

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidData


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
    # What is left of v without its part along u: unlike √(1 − ⟨u, v⟩²), exact for directions that nearly agree.
    rest = second - np.vecdot(first, second)[..., None] * first
    return np.asarray(np.minimum(np.linalg.norm(rest, axis=-1), 1.0))


def _units(vectors: ArrayLike, name: str) -> Float64s:
    array = np.asarray(vectors, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise InvalidData(f"perturbation: {name} must be a vector, got shape {array.shape}")
    lengths = np.linalg.norm(array, axis=-1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise InvalidData(f"perturbation: {name} must be finite and not zero, or it has no direction")
    return np.asarray(array / lengths)
