"""Linear discriminants of every class, judged out of sample, from sums that add up."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

from eigenclean.arrays import Array, Float64s, Floats, Ints, row_chunks, working_dtype


@dataclass(frozen=True)
class UnitRows:
    """Features as directions: rows scaled to length 1, then centred; made chunk by chunk, never stored."""

    features: Array
    folds: Ints
    centre: Float64s

    @classmethod
    def of(cls, features: Array, folds: Ints, centre: Float64s | None = None) -> "UnitRows":
        """Take the centre from the features themselves unless it is given."""
        if centre is None:
            rows = cls(features, folds, np.zeros(features.shape[1]))
            total = sum(rows.block(part).sum(axis=0, dtype=np.float64) for part in rows.parts())
            centre = np.asarray(total / len(features))
        return cls(features, folds, centre)

    def parts(self) -> list[slice]:
        """Row ranges that fit into memory comfortably."""
        return list(row_chunks(len(self.features), 4 * self.features.shape[1]))

    def block(self, part: slice) -> Floats:
        """These rows, in the precision of the features."""
        block = np.asarray(self.features[part], dtype=working_dtype(self.features.dtype))
        length = np.sqrt(np.vecdot(block, block))
        length[length == 0] = 1.0  # a zero row has no direction and stays where it is
        unit: Floats = block / length[:, None]
        unit -= self.centre.astype(unit.dtype)
        return unit

    def second_moments(self, weight: Float64s | None, n_folds: int) -> Float64s:
        """Σ w z zᵀ of each fold, products in the precision of the features and sums in float64."""
        d = self.features.shape[1]
        totals = np.zeros((n_folds, d, d))
        for part in self.parts():
            block, folds = self.block(part), self.folds[part]
            if weight is not None:
                block *= np.sqrt(weight[part]).astype(block.dtype)[:, None]
            for fold in range(n_folds):
                own = block[folds == fold]
                totals[fold] += own.T @ own
        return totals

    def class_sums(self, membership: Floats, n_folds: int) -> tuple[Float64s, Float64s]:
        """Σ r z (folds x K x d) and Σ r (folds x K) for soft memberships r (n x K)."""
        k, d = membership.shape[1], self.features.shape[1]
        sums, counts = np.zeros((n_folds, k, d)), np.zeros((n_folds, k))
        for part in self.parts():
            block, members, folds = self.block(part), membership[part], self.folds[part]
            for fold in range(n_folds):
                own = folds == fold
                sums[fold] += members[own].T.astype(block.dtype) @ block[own]
                counts[fold] += members[own].sum(axis=0, dtype=np.float64)
        return sums, counts


@dataclass(frozen=True)
class Discriminants:
    """For each fold, the linear discriminants that the *other* folds give.

    Attributes:
        directions: folds x K x d.
        offsets: folds x K.
    """

    directions: Float64s
    offsets: Float64s

    def of(self, rows: UnitRows) -> Float64s:
        """n x K log-odds up to a scale, each row by the discriminants of the folds it is not in, centred."""
        n_folds, k, _ = self.directions.shape
        out = np.empty((len(rows.features), k))
        for part in rows.parts():
            block, folds = rows.block(part), rows.folds[part]
            values = np.empty((len(block), k))
            for fold in range(n_folds):
                own = folds == fold
                values[own] = block[own] @ self.directions[fold].T.astype(block.dtype) - self.offsets[fold]
            out[part] = values - values.mean(axis=1, keepdims=True)
        return out


class DiscriminantSolver:
    """Discriminants for any amount of shrinkage, from one set of moments per fold.

    The moments that judge fold f are *total minus fold*: nothing is fitted twice. The within-class covariance
    S = (Σ z zᵀ − Σ_k s_k s_kᵀ / n_k) / n is that of the other folds, too. With that of all folds, a row's own label
    would get in through the class mean that is taken off; with more columns than rows any label would look right.
    """

    def __init__(self, seconds: Float64s, sums: Float64s, counts: Float64s) -> None:
        others = np.maximum(counts.sum(axis=0) - counts, 1e-6)
        rest = sums.sum(axis=0) - sums
        self._counts, self._means = others, rest / others[:, :, None]
        self._covariances = seconds.sum(axis=0) - seconds
        for fold, covariance in enumerate(self._covariances):
            covariance -= (rest[fold].T / others[fold]) @ rest[fold]
            covariance /= others[fold].sum()

    def solve(self, shrinkage: float) -> Discriminants:
        """One Cholesky factorisation a fold serves all classes."""
        directions, offsets = np.empty_like(self._means), np.empty_like(self._counts)
        for fold in range(len(self._means)):
            directions[fold], offsets[fold] = self._solve_fold(fold, shrinkage)
        return Discriminants(directions, offsets)

    def _solve_fold(self, fold: int, shrinkage: float) -> tuple[Float64s, Float64s]:
        means, covariance = self._means[fold], self._covariances[fold]
        d = len(covariance)
        spread = max(float(np.trace(covariance)) / d, 1e-12)
        shrunk = (1 - shrinkage) * covariance
        shrunk[np.diag_indices(d)] += shrinkage * spread
        factor, failed = dpotrf(shrunk, lower=1)
        if failed:  # rounding made it indefinite: what is left of it is the identity
            factor = np.sqrt(spread) * np.eye(d)
        directions = cho_solve((factor, True), means.T, check_finite=False).T
        # A mean of m samples is off by S/m, which makes mᵀ S⁻¹ m too long by the number of effective dimensions
        # over m; without this, small classes would be out of the question.
        inverse, _ = dpotri(factor, lower=1)
        effective = (d - shrinkage * spread * float(np.trace(inverse))) / max(1 - shrinkage, 1e-9)
        length = np.vecdot(directions, means) - max(effective, 0.0) / self._counts[fold]
        return directions, 0.5 * np.maximum(length, 0.0)
