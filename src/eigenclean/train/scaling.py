"""Features on one scale: every column with mean 0 and variance 1, as networks like them."""

from dataclasses import dataclass

import numpy as np
from sklearn.preprocessing import StandardScaler

from eigenclean.arrays import Array, Float64s, row_chunks


@dataclass(frozen=True, eq=False)
class Scaling:
    """What to subtract from each column and what to divide it by.

    >>> Scaling.of(np.array([[0.0, 5.0], [2.0, 5.0]]))(np.array([[4.0, 5.0]]))
    array([[3., 0.]], dtype=float32)
    """

    mean: Float64s
    scale: Float64s

    @classmethod
    def of(cls, features: Array) -> "Scaling":
        """Learn from these rows, a piece at a time; a constant column is not stretched."""
        scaler = StandardScaler()
        for part in row_chunks(len(features), features.shape[1] * 8):
            scaler.partial_fit(features[part].astype(np.float64, copy=False))
        return cls(np.asarray(scaler.mean_), np.asarray(scaler.scale_))

    def __call__(self, features: Array) -> Array:
        """The rows on that scale, as float32."""
        scaled = np.empty(features.shape, dtype=np.float32)
        for part in row_chunks(len(features), features.shape[1] * 8):
            scaled[part] = (features[part] - self.mean) / self.scale
        return scaled
