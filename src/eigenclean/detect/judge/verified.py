"""Judging with labels that people have verified: they are known to the noise model and are not suspects again.

Rows that people looked at are no random sample: they had the lowest P(right). But what chose them is known to the
model, the features and the given label, so that the likelihood of given labels and decisions together needs no
weights for it (missing at random; Rubin, 1976).

No noise model is quite right, and what people decided says how far its probabilities are off. So the log-odds are
calibrated by the decisions with an offset and a slope (Platt, 1999), as far as these explain the decisions better
than no change does. Rows were chosen by such log-odds, which a regression on them allows for.

`judge_verified` is for arrays in memory; engines that have rows in blocks use the functions below it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from eigenclean.arrays import Array, Bools, Float64s, Ints, check_ids
from eigenclean.detect.base import DecisionResult, Detector, check_weight
from eigenclean.detect.decisions import Decision
from eigenclean.detect.judge.instance_noise import mean_log_odds
from eigenclean.detect.judge.judge import Judge
from eigenclean.errors import InvalidOption
from eigenclean.evidence import VerifiedLabels
from eigenclean.sources import as_vector
from eigenclean.verdict import Verdict

_SURE = 50.0  # log-odds of labels that people know to be right or wrong
_PRIOR_DEVIATION = 0.5  # of the offset and of the logarithm of the slope
_MAX_LOG_ODDS = 30.0  # beyond them decisions say nothing about the slope


def judge_verified(
    judge: Detector,
    X: Any,
    y: Any,
    verified: VerifiedLabels,
    *,
    ids: Any = None,
    decision: Decision | None = None,
    groups: Any = None,
) -> Verdict:
    """Fit the judge to these rows, and judge those that nobody has decided about.

    A confirmed label has P(right) = 1, a corrected one that is still given has 0, and the suggestion is the label
    of the people. It may be one that no row has yet: such a row belongs to none of the classes that are learned.
    None of the rows that people decided about is flagged, be it that they were unsure.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> given = np.where(np.arange(len(y)) % 25 == 0, (y + 1) % 3, y)  # 6 labels are wrong
    >>> verified = VerifiedLabels.match(np.arange(len(y)), given, [(0, "relabel", 1, 0), (25, "relabel", 1, 0)])
    >>> judge_verified(Judge(), X, given, verified).flagged[[0, 25, 50, 75]].tolist()
    [False, False, True, True]
    """
    judge = learning_judge(judge)
    with judge._knowing(groups, verified):
        features, codes, scores = judge._fit_scores(X, y, weights_of(verified, as_vector(y)))
    judge._fit_cut(scores, codes)
    scores, result = decide(judge, scores, codes, verified, decision)
    row_ids = check_ids(None if ids is None else as_vector(ids), len(codes), by="Judge")
    p_none = judge._none_probability(features, codes)
    if p_none is not None:  # people have said that these belong to a class, or have removed them
        p_none = np.where(verified.is_decided, 0.0, p_none)
    return with_known_labels(judge._assemble(features, codes, scores, row_ids, result, p_none), verified)


def learning_judge(detector: Detector) -> Judge:
    """The detector, if it learns from decisions."""
    if not isinstance(detector, Judge):
        raise InvalidOption(f"the default method learns from decisions, not {detector.name}")
    return detector


@contextmanager
def knowing(detector: Detector, verified: VerifiedLabels | None) -> Iterator[None]:
    """While rows in blocks are fitted: what people know about them."""
    if verified is None:
        yield
        return
    with learning_judge(detector)._knowing(None, verified):
        yield


def weights_of(verified: VerifiedLabels, labels: Array) -> Float64s | None:
    """0 for rows that nothing is learned from, because people say that they belong to none of the classes."""
    is_other = verified.is_removed | (verified.is_known & ~np.isin(verified.labels, labels))
    return np.where(is_other, 0.0, 1.0) if is_other.any() else None


def block_weights(verified: VerifiedLabels, classes: Array, codes: Ints) -> Float64s | None:
    """The same for rows in blocks, whose weights are checked as `Detector.fit` does it."""
    return check_weight(weights_of(verified, classes), codes, len(classes), by="Judge")


def decide(
    judge: Judge, scores: Float64s, codes: Ints, verified: VerifiedLabels, decision: Decision | None
) -> tuple[Float64s, DecisionResult]:
    """The scores, probabilities and flags of rows of which people have decided about some."""
    known = verified.is_known
    right = verified.labels == judge.classes_[codes]
    # When corrections have been applied, the rows that were wrong are right by now: those left are no fair sample.
    if known.any() and not verified.n_applied:
        scores = calibrated_log_odds(scores, known, right)
        rate = float(np.mean(np.where(known, ~right, expit(-scores))))
        low, high = judge.noise_rate_range_
        judge.noise_rate_range_ = min(low, rate), max(high, rate)
    scores = np.where(known, np.where(right, _SURE, -_SURE), scores)
    result = judge.apply_decision(scores, codes, decision)
    p = np.where(known, right.astype(np.float64), result.p_clean)
    rule = Decision(threshold=judge.threshold) if decision is None else decision
    open_rows = np.flatnonzero(~verified.is_decided)
    flagged = np.zeros(len(codes), dtype=bool)
    flagged[open_rows] = rule.flags(p[open_rows], scores[open_rows])
    record = rule.record(p, flagged)
    made_by = {**result.made_by, "threshold": record["threshold"], "decision": record}
    return scores, DecisionResult(result.cut, p, flagged, made_by)


def calibrated_log_odds(scores: Float64s, known: Bools, right: Bools) -> Float64s:
    """Log-odds of being right, calibrated by the rows that are known.

    Probabilities with the most probable offset and slope are averaged with those of no change. The weights are the
    marginal likelihoods of what is known, by Laplace's approximation: where nothing is off, little is changed.

    >>> scores = np.linspace(-3, 3, 600)
    >>> right = np.random.default_rng(0).random(600) < expit(3 * scores)  # the scores are not sure enough
    >>> low, *_, high = calibrated_log_odds(scores, np.arange(600) % 3 == 0, right)
    >>> bool(low < -6), bool(high > 6)
    (True, True)
    """
    decided, outcome = np.clip(scores[known], -_MAX_LOG_ODDS, _MAX_LOG_ODDS), right[known]
    precision = 1.0 / _PRIOR_DEVIATION**2

    def loss(parameters: Float64s) -> tuple[float, Float64s]:
        scaled = np.exp(parameters[1]) * decided
        odds = parameters[0] + scaled
        residual = expit(odds) - outcome
        gradient = np.array([residual.sum(), residual @ scaled]) + precision * parameters
        likelihood = float(log_expit(np.where(outcome, odds, -odds)).sum())
        return 0.5 * precision * float(parameters @ parameters) - likelihood, gradient

    best = minimize(loss, np.zeros(2), jac=True, method="BFGS").x
    scaled = np.exp(best[1]) * decided
    p = expit(best[0] + scaled)
    variance, mixed = p * (1.0 - p), float((p * (1.0 - p)) @ scaled)
    curvature = (variance.sum() + precision) * (
        variance @ scaled**2 + (p - outcome) @ scaled + precision
    ) - mixed**2
    gain = loss(np.zeros(2))[0] - loss(best)[0] + np.log(precision) - 0.5 * np.log(max(curvature, 1e-12))
    weight = float(expit(np.clip(gain, -30.0, 30.0)))  # neither is 0
    return mean_log_odds([best[0] + np.exp(best[1]) * scores, scores], np.array([weight, 1.0 - weight]))


def with_known_labels(verdict: Verdict, verified: VerifiedLabels) -> Verdict:
    """The verdict on these rows with the labels of people as suggestions, where they have said which is right."""
    known = verified.is_known
    return replace(
        verdict,
        suggested=np.where(known, verified.labels, verdict.suggested),
        suggested_confidence=np.where(known, 1.0, verdict.suggested_confidence),
    )
