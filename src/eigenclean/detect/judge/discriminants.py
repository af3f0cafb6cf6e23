"""Linear discriminants of every class, judged out of sample, from sums that add up."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf

from eigenclean.arrays import Float64s, Floats
from eigenclean.detect.judge.unit_rows import UnitRows

_PROBES = 16  # random vectors that measure a trace; with hundreds of columns it is right within a percent


@dataclass(frozen=True)
class Discriminants:
    """For each fold, the linear discriminants that the *other* folds give.

    Attributes:
        directions: folds x K x d.
        offsets: folds x K.
    """

    directions: Float64s
    offsets: Float64s

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.offsets.shape[1])

    def of(self, rows: UnitRows) -> Floats:
        """n x K log-odds up to a scale, each row by the discriminants of the folds it is not in, centred."""
        out = np.empty((len(rows), self.n_classes), dtype=rows.dtype)
        for fold, index, block in rows.blocks():
            out[index] = self.of_block(fold, block)
        return out

    def of_block(self, fold: int, block: Floats) -> Floats:
        """The same for directions of one fold."""
        values = block @ self.directions[fold].T.astype(block.dtype, copy=False)
        values -= self.offsets[fold].astype(block.dtype)
        values -= values.mean(axis=1, keepdims=True)
        return np.asarray(values)


class DiscriminantSolver:
    """Discriminants for any labels and any amount of shrinkage, from one second moment per fold.

    The moments that judge fold f are *total minus fold*: nothing is fitted twice. The within-class covariance
    S = Σ z zᵀ / n − Σ_k n_k/n m_k m_kᵀ is that of the other folds, too. With that of all folds, a row's own label
    would get in through the class mean that is taken off; with more columns than rows any label would look right.

    Only the class means m depend on the labels. So what is factored, once for all labels, is the *total* second
    moment A = (1 − λ) Σ z zᵀ / n + λτ I; the means are taken off by Woodbury's formula, with a K x K matrix.
    """

    def __init__(self, seconds: Float64s, weights: Float64s, n_dimensions: int | None = None) -> None:
        """``seconds``: Σ w z zᵀ of each fold (folds x d x d); ``weights``: Σ w of each fold.

        ``n_dimensions`` is that of the space in which the rows vary, if d is smaller because rows were projected.
        """
        self._n_dimensions = seconds.shape[1] if n_dimensions is None else n_dimensions
        self._seconds, self._total = seconds, seconds.sum(axis=0)
        self._weights = np.maximum(weights.sum() - weights, 1e-6)
        self._factors: dict[tuple[int, float], Float64s] = {}
        self._effective: dict[float, float] = {}

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self._seconds)

    def solve(
        self, shrinkage: float, sums: Float64s, counts: Float64s, folds: Iterable[int] | None = None
    ) -> Discriminants:
        """Discriminants for class ``sums`` (folds x K x d) and ``counts`` (folds x K), of these ``folds``."""
        others = np.maximum(counts.sum(axis=0) - counts, 1e-6)
        directions = np.zeros(sums.shape)
        offsets = np.zeros(counts.shape)
        for fold in range(self.n_folds) if folds is None else folds:
            means = (sums.sum(axis=0) - sums[fold]) / others[fold][:, None]
            exact, lengths = self._solve_fold(fold, shrinkage, means, others[fold])
            # A mean of m samples is off by S/m, which makes mᵀ S⁻¹ m too long by the number of effective dimensions
            # over m; without this, small classes would be out of the question.
            lengths -= self._effective_dimensions(shrinkage) / others[fold]
            directions[fold], offsets[fold] = exact, 0.5 * np.maximum(lengths, 0.0)
        return Discriminants(directions, offsets)

    def _solve_fold(
        self, fold: int, shrinkage: float, means: Float64s, counts: Float64s
    ) -> tuple[Float64s, Float64s]:
        """S⁻¹ m (K x d) and mᵀ S⁻¹ m (K)."""
        k, d = means.shape
        share = np.sqrt((1 - shrinkage) * counts / self._weights[fold])[:, None]
        if 2 * k > d:  # then it is cheaper to take the means off and factor anew
            factor = _factored(self._shrunk(fold, shrinkage) - (share * means).T @ (share * means))
            directions = cho_solve((factor, True), means.T, check_finite=False).T
        else:
            total = cho_solve((self._factor(fold, shrinkage), True), means.T, check_finite=False).T
            inner = share * (means @ total.T)
            directions = total + np.linalg.solve(np.eye(k) - inner * share.T, inner).T @ (share * total)
        return directions, np.vecdot(directions, means)

    def forget_except(self, shrinkages: Iterable[float]) -> None:
        """Free the cached factors of amounts of shrinkage other than these."""
        self._factors = {key: factor for key, factor in self._factors.items() if key[1] in set(shrinkages)}

    def _shrunk(self, fold: int, shrinkage: float) -> Float64s:
        second = (self._total - self._seconds[fold]) / self._weights[fold]
        d = len(second)
        spread = max(float(np.trace(second)) / self._n_dimensions, 1e-12)
        second *= 1 - shrinkage
        second[np.diag_indices(d)] += shrinkage * spread
        return np.asarray(second)

    def _factor(self, fold: int, shrinkage: float) -> Float64s:
        if (fold, shrinkage) not in self._factors:
            self._factors[fold, shrinkage] = _factored(self._shrunk(fold, shrinkage))
        return self._factors[fold, shrinkage]

    def _effective_dimensions(self, shrinkage: float) -> float:
        """tr A⁻¹ Σ z zᵀ / n, much the same for all folds."""
        if shrinkage not in self._effective:
            d = self._total.shape[0]
            some = np.random.default_rng(0).choice([-1.0, 1.0], size=(d, _PROBES)) / np.sqrt(_PROBES)
            probes = some if d > 256 else np.eye(d)
            inverse = cho_solve((self._factor(0, shrinkage), True), probes, check_finite=False)
            trace = float(np.trace(self._total - self._seconds[0]))
            ridge = shrinkage * max(trace / self._weights[0] / self._n_dimensions, 1e-12)
            effective = (d - ridge * float(np.vdot(probes, inverse))) / max(1 - shrinkage, 1e-9)
            self._effective[shrinkage] = max(effective, 0.0)
        return self._effective[shrinkage]


def _factored(matrix: Float64s) -> Float64s:
    """Lower Cholesky factor."""
    factor, failed = dpotrf(matrix, lower=1)
    if failed:  # rounding made it indefinite: what is left of it is the identity
        spread = max(float(np.trace(matrix)) / len(matrix), 1e-12)
        factor = np.sqrt(spread) * np.eye(len(matrix))
    return np.asarray(factor)
