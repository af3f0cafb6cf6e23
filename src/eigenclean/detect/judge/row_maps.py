"""Other ways to prepare rows: standardised columns, random Fourier features, and principal components."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils.extmath import randomized_svd

from eigenclean.arrays import Array, Float64s, Floats, Ints, row_chunks, working_dtype
from eigenclean.detect.judge.unit_rows import RowMap

MAX_STANDARDISED = 2048  # columns, as for rows of unit length
_CLIP = 8.0  # standard deviations: one absurd value must not take the whole second moment
_CHUNK_BYTES = 1 << 22
_CACHED_BYTES = 1 << 18  # rows that stay in the processor's cache from one step to the next


@dataclass(frozen=True)
class StandardizedColumns:
    """Columns with mean 0 and standard deviation 1, as for tables whose columns have different units.

    Attributes:
        means: of the columns.
        deviations: of the columns; 1 for a constant column.
    """

    means: Float64s
    deviations: Float64s

    @classmethod
    def of(cls, features: Array) -> "StandardizedColumns":
        """Estimate from some rows of features."""
        rows = features.astype(np.float64)
        deviations = rows.std(axis=0)
        return cls(rows.mean(axis=0), np.where(deviations > 1e-12 * np.abs(rows).max(axis=0), deviations, 1.0))

    @property
    def n_columns(self) -> int:
        """Columns of the prepared rows."""
        return len(self.means)

    def apply(self, features: Array, rows: Ints | None = None) -> Floats:
        """Standardise all rows, or these ``rows``."""
        n = len(features) if rows is None else len(rows)
        out = np.empty((n, self.n_columns), working_dtype(features.dtype))
        for chunk in row_chunks(n, 8 * self.n_columns, _CACHED_BYTES):
            # In float64: rounding in float32 would change which of very many classes are candidates.
            block = features[chunk if rows is None else rows[chunk]] - self.means
            block /= self.deviations
            np.clip(block, -_CLIP, _CLIP, out=out[chunk], casting="same_kind")
        return out


@dataclass(frozen=True, eq=False)
class FourierFeatures:
    """Random Fourier features of a Gaussian kernel (Rahimi and Recht, 2007) on prepared rows.

    Linear discriminants of these features are non-linear in the rows, and still sums over rows.

    Attributes:
        base: prepares the rows first.
        bandwidth: of the kernel, in the units of the prepared rows.
        n_features: number of features.
        centre: subtracted mean; 0 before it is known.
    """

    base: RowMap
    bandwidth: float
    n_features: int
    centre: Float64s | float = 0.0

    @property
    def n_columns(self) -> int:
        """Columns of the prepared rows."""
        return self.n_features

    @cached_property
    def _frequencies(self) -> Float64s:
        rng = np.random.default_rng(0)  # the same for all engines
        return rng.standard_normal((self.base.n_columns, self.n_features // 2)) / self.bandwidth

    def apply(self, features: Array, rows: Ints | None = None) -> Floats:
        """Fourier features of all rows, or of these ``rows``."""
        n = len(features) if rows is None else len(rows)
        dtype = working_dtype(features.dtype)
        out = np.empty((n, self.n_features), dtype)
        frequencies, half = self._frequencies.astype(dtype), self.n_features // 2
        centre = np.asarray(self.centre, dtype=dtype)
        for chunk in row_chunks(n, 4 * max(features.shape[1], self.n_features), _CHUNK_BYTES):
            prepared = self.base.apply(features[chunk]) if rows is None else self.base.apply(features, rows[chunk])
            angles = prepared @ frequencies
            block = out[chunk]  # finished while it is in the processor's cache
            np.cos(angles, out=block[:, :half])
            np.sin(angles, out=block[:, half:])
            block *= np.sqrt(2.0 / self.n_features)
            block -= centre
        return out


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """The first principal components of prepared rows, where these have more columns.

    Attributes:
        base: prepares the rows first.
        components: columns of ``base`` x columns of the result; None if there is nothing to reduce.
    """

    base: RowMap
    components: Floats | None

    @classmethod
    def of(cls, base: RowMap, features: Array, n_components: int) -> "PrincipalComponents":
        """Estimate from some rows of features."""
        if base.n_columns <= n_components:
            return cls(base, None)
        rows = base.apply(features)
        return cls(base, randomized_svd(rows, min(n_components, *rows.shape), n_iter=2, random_state=0)[2].T)

    @property
    def n_columns(self) -> int:
        """Columns of the prepared rows."""
        return self.base.n_columns if self.components is None else self.components.shape[1]

    def apply(self, features: Array, rows: Ints | None = None) -> Floats:
        """Prepare all rows, or these ``rows``."""
        prepared = self.base.apply(features, rows)
        return prepared if self.components is None else prepared @ self.components.astype(prepared.dtype)


def typical_distance(rows: Floats) -> float:
    """Root mean square distance between two random rows: the unit for the bandwidth of a kernel.

    >>> typical_distance(np.array([[0.0, 1.0], [2.0, 1.0]]))  # half of all pairs are two copies of a row
    1.4142135623730951
    """
    variance = float(rows.var(axis=0, dtype=np.float64).sum())
    return float(np.sqrt(2.0 * variance)) if variance > 0 else 1.0
