"""How accurate a classifier is when the labels that it is measured with may be wrong themselves.

It does not need the truth: the verdict on the test labels says how probable each of them is.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from eigenclean.arrays import Array, Float64s
from eigenclean.errors import InvalidData
from eigenclean.metrics.noise_rate import LEVEL, noise_rate_interval, normal_quantile, recorded_range
from eigenclean.verdict import Verdict

CORRECTION = 0.15  # chosen on digits with planted noise


@dataclass(frozen=True)
class AccuracyEstimate:
    """Accuracy on rows whose labels may be wrong.

    Attributes:
        measured: share of the predictions that agree with the given labels.
        estimate: estimated share of the predictions that are right.
        low: lower end of the interval for that share.
        high: upper end.
        n: number of rows.
        level: of the interval.
    """

    measured: float
    estimate: float
    low: float
    high: float
    n: int
    level: float = LEVEL

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain values for JSON."""
        return {
            "measured": self.measured,
            "estimate": self.estimate,
            "interval": [self.low, self.high],
            "level": self.level,
            "n": self.n,
        }


def true_accuracy(predicted: Array, verdict: Verdict, level: float = LEVEL) -> AccuracyEstimate:
    """Estimate the share of right predictions from a verdict on the labels of the same rows.

    Predictions are treated as labels: each is right with the probability of its class, given the row and its label.
    Their share of errors has the interval of a noise rate, see `noise_rate_interval`. Where the detector left open
    how many labels are wrong, the interval has the accuracies at both ends of that range.

    Args:
        predicted: a label for each row of the verdict.
        verdict: on the given labels of these rows, by a detector that did not learn from the predictions.
        level: of the interval.

    >>> labels = np.array([0, 0, 1, 1])
    >>> p_clean, flagged = np.array([0.99, 0.99, 0.99, 0.02]), np.array([False, False, False, True])
    >>> suggested, confidence = np.array([0, 0, 1, 0]), np.array([0.99, 0.99, 0.99, 0.98])
    >>> verdict = Verdict(labels, labels, p_clean, p_clean, flagged, suggested, confidence, {})
    >>> accuracy = true_accuracy(np.array([0, 0, 1, 0]), verdict)
    >>> accuracy.measured, round(accuracy.estimate, 2)
    (0.75, 0.99)
    """
    predicted = np.asarray(predicted)
    if len(predicted) != len(verdict) or len(predicted) == 0:
        raise InvalidData(
            f"true_accuracy: there must be a prediction for each of the {len(verdict)} labels, got {len(predicted)}"
        )
    p_right = right_probabilities(predicted, verdict)
    estimate = float(p_right.mean())
    measured = float(np.mean(predicted == verdict.labels))
    least_wrong, most_wrong = noise_rate_interval(p_right, level)
    # The correction for wrong labels is itself uncertain: by this share of it, one standard deviation either way.
    doubt = normal_quantile(level) * CORRECTION * abs(estimate - measured)
    low = estimate - float(np.hypot(most_wrong - (1 - estimate), doubt))
    high = estimate + float(np.hypot((1 - estimate) - least_wrong, doubt))
    for rate in recorded_range(verdict) or ():
        at_rate = float(right_probabilities(predicted, verdict, rate).mean())
        low, high = min(low, at_rate), max(high, at_rate)
    return AccuracyEstimate(measured, estimate, max(low, 0.0), min(high, 1.0), len(predicted), level)


def right_probabilities(predicted: Array, verdict: Verdict, noise_rate: float | None = None) -> Float64s:
    """Probability that each prediction is right, given the row and its label.

    It is P(right) of the label where they agree, and the confidence of the suggestion where that is predicted. A
    label that was not flagged has no suggestion: if it is wrong all the same, the prediction is right as often as
    it is for the flagged ones. With a ``noise_rate``, the odds of all labels are changed by a common factor so that
    this share of them is wrong.
    """
    p_clean = np.nan_to_num(np.asarray(verdict.p_clean, dtype=np.float64), nan=0.5)
    confidence = np.nan_to_num(np.asarray(verdict.suggested_confidence, dtype=np.float64), nan=0.5)
    agrees = np.asarray(predicted == verdict.labels)
    has_suggestion = np.asarray(verdict.suggested != verdict.labels)
    differs = ~agrees & has_suggestion
    p_suggested = np.where(differs & (predicted == verdict.suggested), np.minimum(confidence, 1 - p_clean), 0.0)
    wrong = float((1 - p_clean)[differs].sum())
    share = float(p_suggested.sum()) / wrong if wrong > 0 else 1.0
    if noise_rate is not None:
        shifted = _with_rate(p_clean, noise_rate)
        p_suggested *= (1 - shifted) / np.maximum(1 - p_clean, 1e-12)
        p_clean = shifted
    return np.where(agrees, p_clean, np.where(has_suggestion, p_suggested, share * (1 - p_clean)))


def _with_rate(p_clean: Float64s, rate: float) -> Float64s:
    """The probabilities with their odds changed by a common factor, so that the mean of 1 - P is the rate.

    >>> _with_rate(np.array([0.5, 0.9]), 0.5).round(2)
    array([0.25, 0.75])
    """
    logits = logit(np.clip(p_clean, 1e-9, 1 - 1e-9))
    target = float(np.clip(1 - rate, 1e-6, 1 - 1e-6))
    change = brentq(lambda shift: float(expit(logits + shift).mean()) - target, -60.0, 60.0)
    return np.asarray(expit(logits + change))
