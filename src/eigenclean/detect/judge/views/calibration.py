"""Calibration of predicted probabilities, class by class, before the noise model sees them.

A model of the user may be too sure of some classes and not sure enough of others: boosted trees are nearly as sure
of two classes that overlap as of the rest. The noise model has one scale for all classes, and would explain what
this scale cannot as label noise. So the log-probabilities g of each class c become t_c·g_c + b_c, with the t and b
under which the given labels of *other* folds are most likely; but only if the labels of the fold itself become more
likely by it than with one t for all classes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from eigenclean.arrays import Float64s, Floats, Ints
from eigenclean.detect.judge.views.base import centred

MAX_ROWS = 10_000  # enough for two parameters of each class
MAX_CLASSES = 200  # with more, rows are too few and take too long
_SCALES = (0.1, 10.0)
_STRENGTH = 1.0  # of the penalty that keeps t near 1 and b near 0, in units of the log-likelihood of one row


@dataclass(frozen=True, eq=False)
class ClassCalibration:
    """The scale and the offset of each class, for rows of each fold.

    Attributes:
        scales: t, folds x K.
        offsets: b, folds x K.
    """

    scales: Float64s
    offsets: Float64s

    @classmethod
    def fit(
        cls, log_scores: Floats, codes: Ints, folds: Ints, n_folds: int, weight: Float64s | None = None
    ) -> "ClassCalibration":
        """Learn from centred log-scores and given classes; what is for a fold, from the rows of the others."""
        shape = n_folds, log_scores.shape[1]
        identity = cls(np.ones(shape), np.zeros(shape))
        weights = np.ones(len(codes)) if weight is None else weight
        index = np.flatnonzero(weights > 0)[:MAX_ROWS]
        if shape[1] > MAX_CLASSES or not len(index):
            return identity
        g, given, row_folds, shares = log_scores[index], codes[index], folds[index], weights[index]
        by_class, shared = (
            cls._cross_fitted(g, given, row_folds, shares, identity, each) for each in (True, False)
        )
        gain = shares @ (
            by_class._log_likelihoods(g, given, row_folds) - shared._log_likelihoods(g, given, row_folds)
        )
        return by_class if gain > 0 else identity

    @classmethod
    def _cross_fitted(
        cls, g: Floats, codes: Ints, folds: Ints, weights: Float64s, start: "ClassCalibration", by_class: bool
    ) -> "ClassCalibration":
        scales, offsets = start.scales.copy(), start.offsets.copy()
        for fold in range(len(scales)):
            others = np.flatnonzero(folds != fold)
            if len(others):
                fitted = _most_likely(g[others], codes[others], weights[others], by_class=by_class)
                scales[fold], offsets[fold] = fitted
        return cls(scales, offsets)

    def _log_likelihoods(self, g: Floats, codes: Ints, folds: Ints) -> Float64s:
        return np.asarray(log_softmax(self.apply(g, folds), axis=1)[np.arange(len(codes)), codes], dtype=np.float64)

    def apply(self, log_scores: Floats, folds: Ints) -> Floats:
        """Calibrated log-scores of rows in these folds, centred."""
        return centred(log_scores * self.scales[folds] + self.offsets[folds])


def _most_likely(
    log_scores: Floats, codes: Ints, weights: Float64s, *, by_class: bool
) -> tuple[Float64s, Float64s]:
    """t and b at the highest penalised likelihood of the given classes; one t for all unless ``by_class``."""
    g = log_scores.astype(np.float64)
    n, k = g.shape
    n_scales = k if by_class else 1
    shares = weights / weights.sum()
    given = np.arange(n), codes
    counts, sums = np.bincount(codes, shares, k), np.bincount(codes, shares * g[given], k)
    penalty = _STRENGTH / n

    def loss(parameters: Float64s) -> tuple[float, Float64s]:
        change, offsets = parameters[:n_scales], parameters[n_scales:]
        logits = g * (1.0 + change) + offsets
        logits -= logits.max(axis=1, keepdims=True)
        p = np.exp(logits)
        totals = p.sum(axis=1)
        p *= (shares / totals)[:, None]
        value = float(shares @ (np.log(totals) - logits[given])) + penalty * float(parameters @ parameters)
        steps = np.einsum("ij,ij->j", p, g) - sums
        gradient = np.concatenate([steps if by_class else steps.sum(keepdims=True), p.sum(axis=0) - counts])
        return value, gradient + 2.0 * penalty * parameters

    bounds: Any = [(low - 1.0, high - 1.0) for low, high in [_SCALES] * n_scales] + [(None, None)] * k
    start = np.zeros(n_scales + k)
    fitted = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100})
    return np.broadcast_to(1.0 + fitted.x[:n_scales], k), np.asarray(fitted.x[n_scales:])
