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
        """Number of classes, K."""
        return int(self.offsets.shape[1])

    def of(self, rows: UnitRows) -> Floats:
        """n x K log-odds up to a scale, each row by the discriminants of the folds it is not in, centred."""
        out = np.empty((len(rows), self.n_classes), dtype=rows.dtype)
        for fold, index, block in rows.blocks():
            out[index] = self.of_block(fold, block)
        return out

    def of_block(self, fold: int, block: Floats) -> Floats:
        """Centred log-odds of rows of one fold, by the discriminants of the other folds."""
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
        self._seconds, self._total, self._weights = seconds, seconds.sum(axis=0), weights
        self._factors: dict[tuple[tuple[int, ...], float], Float64s] = {}
        self._effective: dict[float, float] = {}

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self._seconds)

    @property
    def total(self) -> Float64s:
        """Second moment of all rows, d x d."""
        return np.asarray(self._total)

    def solve(
        self, shrinkage: float, sums: Float64s, counts: Float64s, folds: Iterable[int] | None = None
    ) -> Discriminants:
        """Discriminants of these ``folds`` (all by default), each without the rows of the fold itself.

        ``sums`` (folds x K x d) and ``counts`` (folds x K) are those of the classes in each fold. With an axis in
        front, the labels of the other folds depend on the fold that is judged.
        """
        n_folds, (k, d) = self.n_folds, sums.shape[-2:]
        directions, offsets = np.zeros((n_folds, k, d)), np.zeros((n_folds, k))
        for fold in range(n_folds) if folds is None else folds:
            seen = (sums, counts) if sums.ndim == 3 else (sums[fold], counts[fold])
            directions[fold], offsets[fold] = self._solve_without((fold,), shrinkage, *seen)
        return Discriminants(directions, offsets)

    def solve_nested(self, shrinkage: float, sums: Float64s, counts: Float64s, outer: int) -> Discriminants:
        """Discriminants of all folds but ``outer``, each without the rows of the fold itself and of ``outer``.

        With them the labels of the other folds can be corrected without those of ``outer``.
        """
        n_folds, k, d = sums.shape
        directions, offsets = np.zeros((n_folds, k, d)), np.zeros((n_folds, k))
        for fold in range(n_folds):
            if fold != outer:
                left_out = (min(fold, outer), max(fold, outer))
                directions[fold], offsets[fold] = self._solve_without(left_out, shrinkage, sums, counts)
        return Discriminants(directions, offsets)

    def _solve_without(
        self, left_out: tuple[int, ...], shrinkage: float, sums: Float64s, counts: Float64s
    ) -> tuple[Float64s, Float64s]:
        kept = [fold for fold in range(self.n_folds) if fold not in left_out]
        kept_counts = np.maximum(counts[kept].sum(axis=0), 1e-6)
        means = sums[kept].sum(axis=0) / kept_counts[:, None]
        directions, lengths = self._solve(left_out, shrinkage, means, kept_counts)
        # A mean of m samples is off by S/m, which makes mᵀ S⁻¹ m too long by the number of effective dimensions
        # over m; without this, small classes would be out of the question.
        lengths -= self._effective_dimensions(shrinkage) / kept_counts
        return directions, 0.5 * np.maximum(lengths, 0.0)

    def _solve(
        self, left_out: tuple[int, ...], shrinkage: float, means: Float64s, counts: Float64s
    ) -> tuple[Float64s, Float64s]:
        """S⁻¹ m (K x d) and mᵀ S⁻¹ m (K)."""
        k, d = means.shape
        share = np.sqrt((1 - shrinkage) * counts / self._weight(left_out))[:, None]
        if 2 * k > d:  # then it is cheaper to take the means off and factor anew
            factor = _factored(self._shrunk(left_out, shrinkage) - (share * means).T @ (share * means))
            directions = cho_solve((factor, True), means.T, check_finite=False).T
        else:
            total = cho_solve((self._factor(left_out, shrinkage), True), means.T, check_finite=False).T
            inner = share * (means @ total.T)
            directions = total + np.linalg.solve(np.eye(k) - inner * share.T, inner).T @ (share * total)
        return directions, np.vecdot(directions, means)

    def forget_except(self, shrinkages: Iterable[float]) -> None:
        """Free the cached factors of amounts of shrinkage other than these."""
        self._factors = {key: factor for key, factor in self._factors.items() if key[1] in set(shrinkages)}

    def _weight(self, left_out: tuple[int, ...]) -> float:
        return max(float(self._weights.sum() - self._weights[list(left_out)].sum()), 1e-6)

    def _shrunk(self, left_out: tuple[int, ...], shrinkage: float) -> Float64s:
        second = self._total - self._seconds[left_out[0]]
        for fold in left_out[1:]:
            second -= self._seconds[fold]
        second /= self._weight(left_out)
        spread = max(float(np.trace(second)) / self._n_dimensions, 1e-12)
        second *= 1 - shrinkage
        second[np.diag_indices(len(second))] += shrinkage * spread
        return np.asarray(second)

    def _factor(self, left_out: tuple[int, ...], shrinkage: float) -> Float64s:
        if (left_out, shrinkage) not in self._factors:
            self._factors[left_out, shrinkage] = _factored(self._shrunk(left_out, shrinkage))
        return self._factors[left_out, shrinkage]

    def _effective_dimensions(self, shrinkage: float) -> float:
        """tr A⁻¹ Σ z zᵀ / n, much the same for all folds."""
        if shrinkage not in self._effective:
            d = self._total.shape[0]
            some = np.random.default_rng(0).choice([-1.0, 1.0], size=(d, _PROBES)) / np.sqrt(_PROBES)
            probes = some if d > 256 else np.eye(d)
            inverse = cho_solve((self._factor((0,), shrinkage), True), probes, check_finite=False)
            trace = float(np.trace(self._total - self._seconds[0]))
            ridge = shrinkage * max(trace / self._weight((0,)) / self._n_dimensions, 1e-12)
            effective = (d - ridge * float(np.vdot(probes, inverse))) / max(1 - shrinkage, 1e-9)
            self._effective[shrinkage] = max(effective, 0.0)
        return self._effective[shrinkage]


def _factored(matrix: Float64s) -> Float64s:
    """The lower Cholesky factor of a covariance matrix."""
    factor, failed = dpotrf(matrix, lower=1)
    if failed:  # rounding made it indefinite: what is left of it is the identity
        spread = max(float(np.trace(matrix)) / len(matrix), 1e-12)
        factor = np.sqrt(spread) * np.eye(len(matrix))
    return np.asarray(factor)
