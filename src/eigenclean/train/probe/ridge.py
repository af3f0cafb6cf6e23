"""A linear head by least squares, with the amount of shrinkage that predicts left-out rows best."""

from dataclasses import dataclass

import numpy as np

from eigenclean.arrays import Array, Float64s, Floats, row_chunks
from eigenclean.detect.judge.unit_rows import RowMap

SHRINKAGES = tuple(float(10.0**power) for power in np.arange(-3.0, 2.01, 0.5))  # in mean eigenvalues
_CHUNK_BYTES = 1 << 25


@dataclass(frozen=True, eq=False)
class RidgeHead:
    """Scores of the classes, linear in prepared rows.

    Attributes:
        row_map: prepares the rows.
        directions: d x K.
        offsets: K.
        shrinkage: what was added to the eigenvalues of the covariance, in units of their mean.
    """

    row_map: RowMap
    directions: Float64s
    offsets: Float64s
    shrinkage: float

    def scores(self, features: Array) -> Float64s:
        """Scores of the classes, n x K; estimates of their probabilities that may lie outside of 0 to 1."""
        out = np.empty((len(features), len(self.offsets)))
        for chunk in row_chunks(len(features), 4 * max(features.shape[1], len(self.directions)), _CHUNK_BYTES):
            out[chunk] = self.row_map.apply(features[chunk]) @ self.directions + self.offsets
        return out


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """A fitted head, and scores of each row by the head that is fitted without it."""

    head: RidgeHead
    left_out_scores: Float64s
    error: float


def fit_ridge(
    features: Array, row_map: RowMap, shares: Float64s, weight: Float64s, shrinkages: tuple[float, ...] = SHRINKAGES
) -> RidgeFit:
    """Regress the class shares (n x K) on prepared rows with the best of the amounts of shrinkage.

    All amounts share one eigendecomposition. The scores that a head gives a row when that row is left out follow
    from the leverage of the row (Allen, 1974), so that no head is fitted twice. The amount with the smallest
    squared error of these scores is taken.
    """
    rows = row_map.apply(features).astype(np.float64)
    total = float(weight.sum())
    row_mean, share_mean = weight @ rows / total, weight @ shares / total
    rows -= row_mean
    roots = np.sqrt(weight)[:, None]
    spectrum = _Spectrum.of(rows * roots)
    coordinates = rows @ spectrum.axes
    cross = (coordinates * weight[:, None]).T @ (shares - share_mean)
    unit = max(float(spectrum.values.sum()) / rows.shape[1], 1e-12)
    best: tuple[float, float, Float64s, Float64s] | None = None
    for shrinkage in shrinkages:
        inverse = 1.0 / (spectrum.values + shrinkage * unit)
        coefficients = inverse[:, None] * cross
        fitted = coordinates @ coefficients + share_mean
        # The mean is estimated, too: a row has a share of 1 / n in it.
        leverage = weight * ((coordinates**2) @ inverse + 1.0 / total)
        leverage = np.minimum(leverage, 1 - 1e-6)[:, None]
        left_out = (fitted - leverage * shares) / (1 - leverage)
        error = float(weight @ ((left_out - shares) ** 2).sum(axis=1)) / total
        if best is None or error < best[0]:
            best = error, shrinkage, spectrum.axes @ coefficients, left_out
    assert best is not None
    error, shrinkage, directions, left_out = best
    return RidgeFit(RidgeHead(row_map, directions, share_mean - row_mean @ directions, shrinkage), left_out, error)


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Eigenvalues of XᵀX that are not zero, and their eigenvectors in columns."""

    values: Float64s
    axes: Float64s

    @classmethod
    def of(cls, rows: Floats) -> "_Spectrum":
        n, d = rows.shape
        values, vectors = np.linalg.eigh(rows.T @ rows if d <= n else rows @ rows.T)
        is_used = values > 1e-10 * max(float(values[-1]), 1e-300)
        values, vectors = values[is_used], vectors[:, is_used]
        return cls(values, vectors if d <= n else (rows.T @ vectors) / np.sqrt(values))
