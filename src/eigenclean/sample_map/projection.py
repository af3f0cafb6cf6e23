"""Features in two dimensions: their first two principal components, at unit length."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Float64s, Floats
from eigenclean.detect.value_range import is_in_range, largest_magnitude, scale

_ITERATIONS = 12


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """Two principal axes of rows at unit length.

    Attributes:
        mean: of these rows.
        directions: d x 2, the axes.
        explained: share of the variance that they explain.
    """

    mean: Floats
    directions: Floats
    explained: float

    @classmethod
    def fit(cls, block: Array) -> "PrincipalAxes":
        """The axes of the rows of a block.

        >>> axes = PrincipalAxes.fit(np.array([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0]]))
        >>> axes.directions.shape, round(axes.explained, 3)
        ((3, 2), 1.0)
        """
        rows = _unit_rows(block)
        mean = rows.mean(axis=0)
        rows -= mean
        # Subspace iteration: two of a thousand axes do not need a full decomposition.
        basis = np.random.default_rng(0).standard_normal((rows.shape[1], min(8, *rows.shape)), dtype=np.float32)
        for _ in range(_ITERATIONS):
            basis = np.linalg.qr(rows.T @ (rows @ basis))[0]
        inner = rows @ basis
        values, rotation = np.linalg.eigh((inner.T @ inner).astype(np.float64))
        directions = np.zeros((rows.shape[1], 2), dtype=np.float32)
        directions[:, : min(2, len(values))] = basis @ rotation[:, ::-1][:, :2].astype(np.float32)
        points = rows @ directions
        directions *= np.where(np.abs(points.max(axis=0)) < np.abs(points.min(axis=0)), -1, 1)  # a fixed sign
        total = float(np.sum(rows**2, dtype=np.float64))
        explained = float(values[::-1][:2].sum()) / total if total > 0 else 0.0
        return cls(mean, directions, min(1.0, explained))

    def place(self, block: Array) -> Float64s:
        """Rows, n x d, as points, n x 2."""
        return ((_unit_rows(block) - self.mean) @ self.directions).astype(np.float64)


def to_unit_square(points: Float64s) -> Float64s:
    """The points between 0 and 1 in both directions; 0 where they do not differ."""
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray((points - low) / np.where(high > low, high - low, 1))


def _unit_rows(block: Array) -> Floats:
    """Rows of length 1 in float32; what is not finite counts as 0.

    Rows whose squares would not fit into float32 are scaled before, as detectors do.
    """
    block = np.nan_to_num(block, nan=0.0, posinf=0.0, neginf=0.0)
    largest = largest_magnitude(block)
    if not is_in_range(largest, np.dtype(np.float32)):
        block = scale(block, int(np.frexp(largest)[1]))
    rows = block.astype(np.float32)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))
