"""Logits for detectors that need them when only features are given: a cross-fitted linear head."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import softmax
from sklearn.base import clone

from eigenclean.arrays import Array, Bools, Float64s, Floats, Ints
from eigenclean.detect.base import Detector
from eigenclean.detect.baselines.neighbours import check_count
from eigenclean.detect.blocks import LocalBlocks
from eigenclean.detect.cuts import Cut, FixedCut
from eigenclean.detect.folds import content_folds
from eigenclean.detect.judge.discriminants import Discriminants, DiscriminantSolver
from eigenclean.detect.judge.unit_rows import RowNormalizer, UnitRows
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.evidence import EvidenceKind

SHRINKAGES = (0.003, 0.01, 0.03, 0.1, 0.3, 0.9)  # the last for more columns than rows


@dataclass(frozen=True, eq=False)
class Calibration:
    """P(given label | x) = softmax(β·g + b): scale β, offsets b (K), and the log-likelihood per sample."""

    scale: float
    offsets: Float64s
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class LinearHead:
    """Cross-fitted logits of P(given label | x) = softmax(β·g + b), with the discriminants g of the other folds.

    It takes the place of the last layer of a network. Class moments are summed per fold, and the logits of a fold
    come from the moments of the others, with the shrinkage under which the given labels are most likely out of
    sample; so no label influences its own logits. β and b are calibrated on the same out-of-sample discriminants.
    The fold of a row follows from its content, so new rows are scored by all folds but one as well.

    Attributes:
        shrinkage: the chosen amount of shrinkage.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = LinearHead.fit(X, y, 10)
    >>> bool(np.mean(head.logits(X).argmax(axis=1) == y) > 0.9)
    True
    """

    shrinkage: float
    _discriminants: Discriminants
    _normalizer: RowNormalizer
    _n_folds: int
    _calibration: Calibration

    @classmethod
    def fit(
        cls,
        X: Array,
        codes: Ints,
        k: int,
        weight: Float64s | None = None,
        n_folds: int = 5,
        shrinkages: Sequence[float] = SHRINKAGES,
    ) -> "LinearHead":
        """Learn from the samples of positive ``weight``; ``codes`` are 0..k-1, and a class may have no sample."""
        normalizer = RowNormalizer.of(X)
        projected = normalizer.projected(LocalBlocks.of([X]), len(X))
        rows = UnitRows(X, content_folds(X, n_folds), projected)
        members = np.zeros((len(X), k), dtype=np.float32)
        members[np.arange(len(X)), codes] = 1.0 if weight is None else weight
        masses = np.bincount(rows.folds, weight, n_folds).astype(np.float64)
        solver, sums = (
            DiscriminantSolver(rows.second_moments(weight, n_folds), masses, normalizer.n_columns),
            rows.class_sums(members, n_folds),
        )
        weighted = slice(None) if weight is None else np.flatnonzero(weight)
        best: LinearHead | None = None
        for shrinkage in shrinkages:
            discriminants = solver.solve(shrinkage, *sums)
            fitted = _calibrated(discriminants.of(rows)[weighted], codes[weighted])
            if best is None or fitted.log_likelihood > best._calibration.log_likelihood:
                best = cls(shrinkage, discriminants, projected, n_folds, fitted)
        assert best is not None
        return best

    def logits(self, X: Array) -> Float64s:
        """n x k, each row by the folds that it is not in."""
        rows = UnitRows.of(X, content_folds(X, self._n_folds), self._normalizer)
        return self._calibration.scale * self._discriminants.of(rows) + self._calibration.offsets

    def probabilities(self, X: Array) -> Float64s:
        """P(given label | x), n x k."""
        return np.asarray(softmax(self.logits(X), axis=1))


class LogitDetector(Detector):
    """The base of detectors that use logits only: they implement `_score_logits`, whose scores are cut at 0.

    With ``head="linear"``, X are features, and a `LinearHead` of ``n_folds`` folds gives out-of-sample logits. With
    ``head=None``, X are the logits themselves, n x K, columns in the order of the sorted classes: any scores that a
    softmax turns into probabilities, such as their logarithms. They should be out of sample too.
    """

    _head: LinearHead | None

    def __init__(
        self,
        *,
        head: Literal["linear"] | None = "linear",
        n_folds: int = 5,
        cut: str | Cut = "fixed",
        threshold: float = 0.5,
    ) -> None:
        self.head = head
        self.n_folds = n_folds
        self.cut = cut
        self.threshold = threshold

    @property
    def consumes(self) -> EvidenceKind:
        """Logits when there is no head that turns features into them."""
        return "logits" if self.head is None else "features"

    def with_probabilities(self, has_features: bool) -> "LogitDetector":
        """A copy that takes logits: predicted probabilities are used in place of the head's."""
        copied: LogitDetector = clone(self)
        return copied.set_params(head=None)

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        if self.head not in ("linear", None):
            raise InvalidOption(f"{self._by}: head must be 'linear' or None, got {self.head!r}")
        check_count(self.n_folds, 2, by=self._by, what="n_folds")

    @abstractmethod
    def _score_logits(self, logits: Float64s, codes: Ints) -> Float64s:
        """How well each label fits its logits; higher means more likely right."""

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        self._fit_head(X, codes, weight)
        return self._score(X, codes)

    def _fit_head(self, X: Array, codes: Ints, weight: Float64s | None) -> None:
        k = len(self.classes_)
        if self.head is None and X.shape[1] != k:
            raise InvalidData(
                f"{self._by}: with head=None, X are logits with one column for each of the {k} classes, "
                f"got {X.shape[1]} columns; head='linear' takes features"
            )
        self._head = None if self.head is None else LinearHead.fit(X, codes, k, weight, self.n_folds)

    def _score(self, X: Array, codes: Ints) -> Float64s:
        return self._score_logits(self._logits(X), codes)

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        """The most probable other class."""
        logits = self._logits(X[rows])
        logits[np.arange(len(rows)), codes[rows]] = -np.inf
        share = softmax(logits, axis=1)
        return share.argmax(axis=1), share.max(axis=1)

    def _logits(self, X: Array) -> Float64s:
        return X.astype(np.float64) if self._head is None else self._head.logits(X)

    _min_class_size: ClassVar[int] = 3  # smaller classes have too few samples to compare

    def _undecidable(self, cut: Cut) -> Bools:
        return cut.constant_classes()

    def _method_cut(self) -> Cut | None:
        return FixedCut(at=0.0) if self.cut == "fixed" else None

    def _made_by(self, cut: Cut) -> dict[str, Any]:
        record = super()._made_by(cut)
        if self._head is not None:
            record["shrinkage"] = self._head.shrinkage
        return record


def margins(logits: Float64s, codes: Ints) -> Float64s:
    """Each row's value at its code minus the largest other.

    >>> margins(np.array([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0]]), np.array([0, 1]))
    array([ 1., -2.])
    """
    at = np.arange(len(codes)), codes
    others = logits.copy()
    others[at] = -np.inf
    return np.asarray(logits[at] - others.max(axis=1))


def _calibrated(values: Floats, codes: Ints, max_iter: int = 50) -> Calibration:
    """β and b by Newton's method.

    The targets are smoothed as Platt's, by an amount that vanishes with n; without that, β would grow without bound
    where classes are perfectly separable.
    """
    n, k = values.shape
    g = values.astype(np.float64)
    spread = float(g.std())
    model = Calibration(1.0 / spread if spread > 0 else 1.0, np.zeros(k), -np.inf)
    smoothing = 1.0 / (n + 2.0)
    target = np.full((n, k), smoothing / k)
    target[np.arange(n), codes] += 1.0 - smoothing
    for _ in range(max_iter):
        prior = np.asarray(softmax(model.scale * g + model.offsets, axis=1))
        p_given = np.maximum(prior[np.arange(n), codes], 1e-300)
        scale, offsets = _newton_step(model, g, prior, target)
        change = max(abs(scale - model.scale) / model.scale, float(np.abs(offsets - model.offsets).max()))
        model = Calibration(scale, offsets, float(np.log(p_given).mean()))
        if change < 1e-9:
            break
    return model


def _newton_step(model: Calibration, g: Float64s, prior: Float64s, target: Float64s) -> tuple[float, Float64s]:
    """β and b, one Newton step closer to where P(y | x) agrees with the ``target`` on average."""
    n, k = g.shape
    residual = target - prior
    gradient = np.concatenate([[np.vdot(residual, g)], residual.sum(axis=0)]) / n
    weighted = prior * g
    mean = weighted.sum(axis=1)
    hessian = np.empty((k + 1, k + 1))
    hessian[0, 0] = (np.vdot(weighted, g) - np.vdot(mean, mean)) / n
    hessian[0, 1:] = hessian[1:, 0] = (weighted - prior * mean[:, None]).mean(axis=0)
    hessian[1:, 1:] = np.diag(prior.mean(axis=0)) - prior.T @ prior / n
    hessian[np.diag_indices(k + 1)] += 1e-6  # offsets are determined up to a constant
    step = np.linalg.solve(hessian, gradient)
    change = float(np.clip(step[0], -0.5 * model.scale, 0.5 * model.scale))
    return model.scale + change, model.offsets + np.clip(step[1:], -1.0, 1.0)
