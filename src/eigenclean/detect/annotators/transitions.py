"""One transition matrix for each annotator, with a prior that they share.

An annotator who gave ten labels has K² transitions that ten labels say nothing about. So the prior is hierarchical,
as that of `eigenclean.detect.judge.transition_matrix`: the error rate of an annotator is Beta distributed around
that of all, their rates for single classes around what their own rate makes of the profile of all annotators, and
what they confuse is Dirichlet distributed around what all confuse. How strong each of these is, is estimated by
the marginal likelihood of the counts (empirical Bayes).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln, logit

from eigenclean.arrays import Float64s

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 1e5)  # in labels, or in errors
MAX_ENTRIES = 4_000_000  # of all matrices, up to which annotators have confusions of their own
_MIN_RATE = 1e-4
_POOLED = 3.0  # errors by which the confusions of all annotators are drawn towards uniform ones


class PriorStrengths(NamedTuple):
    """Strengths of the three levels: rates of annotators, their rates for classes, and what they confuse."""

    annotators: float = 10.0
    classes: float = 30.0
    confusions: float = 30.0


def fit_transitions(counts: Float64s, strengths: PriorStrengths | None = None) -> tuple[Float64s, PriorStrengths]:
    """Posterior means of T, annotators x right x given, from expected counts of that shape.

    Without ``strengths``, those are estimated under which the counts are most likely.

    >>> few, many = np.diag([1.0, 1.0]), np.array([[80.0, 20.0], [20.0, 80.0]])
    >>> T, _ = fit_transitions(np.stack([few, many, many]))
    >>> bool(0.7 < T[0, 0, 0] < 0.95)  # two right labels do not make an annotator perfect
    True
    """
    a, k, _ = counts.shape
    totals = counts.sum(axis=2)
    errors = counts * (1.0 - np.eye(k))
    wrong = errors.sum(axis=2)
    n = max(float(totals.sum()), 1e-300)
    overall = float(np.clip(wrong.sum() / n, _MIN_RATE, 1 - _MIN_RATE))
    class_rates = (wrong.sum(axis=0) + _POOLED * overall) / (totals.sum(axis=0) + _POOLED)
    profile = logit(np.clip(class_rates, _MIN_RATE, 1 - _MIN_RATE)) - logit(overall)
    pooled = errors.sum(axis=0) + _POOLED * (1.0 - np.eye(k)) / max(k - 1, 1)
    pooled /= np.maximum(pooled.sum(axis=1, keepdims=True), 1e-300)

    wrong_a, totals_a = wrong.sum(axis=1), totals.sum(axis=1)
    strength_a = (
        _best(lambda s: _beta_evidence(wrong_a, totals_a, overall, s))
        if strengths is None
        else strengths.annotators
    )
    rates_a = (wrong_a + strength_a * overall) / (totals_a + strength_a)
    centres = np.clip(
        expit(logit(np.clip(rates_a, _MIN_RATE, 1 - _MIN_RATE))[:, None] + profile), _MIN_RATE, 0.9999
    )
    strength_c = (
        _best(lambda s: _beta_evidence(wrong, totals, centres, s)) if strengths is None else strengths.classes
    )
    rates = (wrong + strength_c * centres) / (totals + strength_c)
    if a * k * k > MAX_ENTRIES:
        strength_t = STRENGTHS[-1]
    elif strengths is None:
        strength_t = _best(lambda s: _dirichlet_evidence(errors, pooled, s))
    else:
        strength_t = strengths.confusions
    confusions = (errors + strength_t * pooled) / (wrong + strength_t)[:, :, None]
    transitions = rates[:, :, None] * confusions
    diagonal = np.arange(k)
    transitions[:, diagonal, diagonal] = 1.0 - rates
    return np.maximum(transitions, 1e-12), PriorStrengths(strength_a, strength_c, strength_t)


def _best(evidence: "object") -> float:
    assert callable(evidence)
    return max(STRENGTHS, key=evidence)


def _beta_evidence(wrong: Float64s, totals: Float64s, rate: Float64s | float, strength: float) -> float:
    """Log-likelihood of numbers of errors, their rates integrated out (beta-binomial)."""
    first, second = strength * np.asarray(rate), strength * (1.0 - np.asarray(rate))
    right = np.maximum(totals - wrong, 0.0)
    terms = gammaln(wrong + first) + gammaln(right + second) - gammaln(wrong + right + strength)
    constants = gammaln(first) + gammaln(second) - gammaln(strength)
    return float(np.sum(terms - constants))


def _dirichlet_evidence(errors: Float64s, centre: Float64s, strength: float) -> float:
    """Log-likelihood of where errors go, their distribution integrated out (Dirichlet-multinomial)."""
    off = ~np.eye(errors.shape[1], dtype=bool)
    start = strength * centre[off]
    entries = gammaln(errors[:, off] + start) - gammaln(start)
    rows = gammaln(strength) - gammaln(errors.sum(axis=2) + strength)
    return float(entries.sum() + rows.sum())
