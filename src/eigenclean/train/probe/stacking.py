"""Several heads as one classifier: how much each counts is learned from the scores of rows that were left out."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from eigenclean.arrays import Float64s
from eigenclean.seeds import tagged_generator

_PENALTY = 1e-3  # of the class offsets and, much less, of the scales
_MAX_SAMPLE = 20_000  # a handful of numbers is estimated


class Stack(NamedTuple):
    """log P = log softmax(Σ scale · scores + offsets).

    Attributes:
        scales: how much each head counts.
        offsets: of the classes.
        loss: cross-entropy of the judged labels.
    """

    scales: Float64s
    offsets: Float64s
    loss: float

    def probabilities(self, scores: list[Float64s]) -> Float64s:
        """Probabilities of the classes, n x K."""
        return np.asarray(softmax(_combined(self.scales, self.offsets, scores), axis=1))


def fit_stack(scores: list[Float64s], shares: Float64s, weight: Float64s) -> Stack:
    """Scales from 0 and class offsets that minimise the cross-entropy of the class shares.

    With one head this is a temperature: its scores become calibrated probabilities.
    """
    if len(weight) > _MAX_SAMPLE:
        rows = tagged_generator(0, "stacking rows").choice(len(weight), _MAX_SAMPLE, replace=False)
        scores, shares, weight = [each[rows] for each in scores], shares[rows], weight[rows]
    spreads = np.array([max(float(each.std()), 1e-12) for each in scores])
    inputs = [each / spread for each, spread in zip(scores, spreads, strict=True)]
    n_heads, k, total = len(scores), shares.shape[1], float(weight.sum())

    def loss(values: Float64s) -> tuple[float, Float64s]:
        scales, offsets = values[:n_heads], values[n_heads:]
        combined = _combined(scales, offsets, inputs)
        logs = log_softmax(combined, axis=1)
        slope = (np.exp(logs) - shares) * weight[:, None] / total
        gradient = np.array([float(np.vdot(slope, each)) for each in inputs])
        value = -float(weight @ (shares * logs).sum(axis=1)) / total
        value += _PENALTY * (float(offsets @ offsets) + 1e-2 * float(scales @ scales))
        return value, np.concatenate([gradient, slope.sum(axis=0)]) + 2 * _PENALTY * np.concatenate(
            [1e-2 * scales, offsets]
        )

    start = np.concatenate([np.full(n_heads, 1.0 / n_heads), np.zeros(k)])
    bounds = [(0.0, None)] * n_heads + [(None, None)] * k
    solution = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
    return Stack(solution.x[:n_heads] / spreads, solution.x[n_heads:], float(solution.fun))


def _combined(scales: Float64s, offsets: Float64s, scores: list[Float64s]) -> Float64s:
    return sum((scale * each for scale, each in zip(scales, scores, strict=True)), offsets[None])
