"""The quality of each annotator, what they confuse, and which of their labels look wrong."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betaincinv

from eigenclean.arrays import Bools, Float64s, Ints
from eigenclean.detect.annotators.model import AnnotatorModel
from eigenclean.evidence import Annotations

LEVEL = 0.9  # of the intervals
MAX_CONFUSIONS = 3
_MIN_ERRORS = 1.5  # a confusion that is expected less often is not typical
_WRONG = 0.5
_ODDS = 2.0  # the odds of all labels may be off by this factor, one standard deviation; as for noise rates


@dataclass(frozen=True, eq=False)
class AnnotatorQuality:
    """How good each annotator is; arrays in the order of the names of the annotations.

    Attributes:
        annotations: the labels.
        p_right: for each label, the probability that it is right.
        quality: for each annotator, the expected share of right labels.
        low: lower end of the interval of the quality.
        high: upper end.
        errors: annotators x right x given, expected numbers of errors.
    """

    annotations: Annotations
    p_right: Float64s
    quality: Float64s
    low: Float64s
    high: Float64s
    errors: Float64s

    @classmethod
    def of(cls, model: AnnotatorModel, level: float = LEVEL) -> "AnnotatorQuality":
        """From the posterior of the right labels.

        The interval is for the rate at which the annotator gives right labels. It counts that labels are a sample,
        that it is not certain which of them are right, and that all probabilities may be off in the same direction:
        annotators make errors together where a row is hard.
        """
        given, p = model.annotations, model.p_right
        a, k = len(given.names), len(given.classes)
        n = given.per_annotator.astype(np.float64)
        right = np.bincount(given.annotators, p, a)
        doubt = np.bincount(given.annotators, p * (1.0 - p), a)
        share = (right + 0.5) / (n + 1.0)
        variance = share * (1.0 - share) / (n + 1.0) + doubt / n**2 + (np.log(_ODDS) * doubt / n) ** 2
        size = np.maximum(share * (1.0 - share) / variance - 1.0, 1e-3)
        tail = (1.0 - level) / 2.0
        low = betaincinv(size * share, size * (1.0 - share), tail)
        high = betaincinv(size * share, size * (1.0 - share), 1.0 - tail)
        quality = right / n
        flat = np.zeros((a * k, k))  # (annotator, given) x right
        np.add.at(flat, given.annotators * k + given.codes, model.posterior[given.rows])
        errors = flat.reshape(a, k, k).transpose(0, 2, 1) * (1.0 - np.eye(k))
        return cls(given, p, quality, np.minimum(low, quality), np.maximum(high, quality), errors)

    @property
    def looks_wrong(self) -> Bools:
        """For each label, whether it is probably wrong."""
        return self.p_right < _WRONG

    @property
    def order(self) -> Ints:
        """The annotators, best first."""
        return np.argsort(-self.quality, kind="stable")

    def confusions(self, annotator: int) -> list[dict[str, Any]]:
        """What this annotator confuses most, as plain values."""
        k = len(self.annotations.classes)
        flat = self.errors[annotator].ravel()
        top = np.argsort(-flat, kind="stable")[:MAX_CONFUSIONS]
        names = self.annotations.classes.tolist()
        return [
            {"right": names[pair // k], "given": names[pair % k], "expected": round(float(flat[pair]), 1)}
            for pair in top.tolist()
            if flat[pair] >= _MIN_ERRORS
        ]

    def records(self, most: int | None = None) -> list[dict[str, Any]]:
        """The annotators as plain values for a summary, worst first, at most so many."""
        return [
            {
                "annotator": str(self.annotations.names[a]),
                "n_labels": int(self.annotations.per_annotator[a]),
                "quality": float(self.quality[a]),
                "quality_low": float(self.low[a]),
                "quality_high": float(self.high[a]),
                "n_wrong": int(np.count_nonzero(self.looks_wrong & (self.annotations.annotators == a))),
                "confusions": self.confusions(a),
            }
            for a in self.order[::-1][:most].tolist()
        ]
