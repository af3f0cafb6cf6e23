"""DST, reconstructed: a mixture on the losses of the given labels, and one on those of the predicted labels.

No code of DST (Liu et al., arXiv 2103.00813) is public. What follows is a reconstruction from what the paper says.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from eigenclean.arrays import Float64s, Ints, encode_labels
from eigenclean.evidence import Evidence
from eigenclean.seeds import tagged_generator
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.averaged_losses import loss_mixture, scaled_to_unit
from eigenclean.train.selectors.base import Memory, Selector, check_threshold
from eigenclean.verdict import Verdict


@dataclass(frozen=True)
class TwoLosses(Selector):
    """All samples are trained on, some with other targets than their labels.

    The target is the given label if its loss lies in the component of small losses. Otherwise it is the predicted
    label if the loss of that lies in the small component of *those* losses, else a random mixture of both.

    Attributes:
        threshold: of both posteriors.
        seed: of the random mixing coefficients.
    """

    threshold: float = 0.5
    seed: int = 0

    kind: ClassVar[str] = "two-losses"

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    @property
    def needs(self) -> tuple[str, ...]:
        """The logits, from which both losses are computed."""
        return ("logits",)

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """All samples with their targets."""
        logits = evidence.need("logits", by=f"selector {self.kind}")
        classes, codes = encode_labels(evidence.labels)
        log_p = log_softmax(logits, axis=1)
        n, most_likely = len(codes), np.asarray(log_p.argmax(axis=1))
        scores = [-scaled_to_unit(-log_p[np.arange(n), which]) for which in (codes, most_likely)]
        p_given, p_predicted = (loss_mixture(score) for score in scores)
        trust = self._trust(p_given, p_predicted, epoch)
        target = mixed_targets(codes, most_likely, trust, logits.shape[1])
        flagged = p_given <= self.threshold
        verdict = Verdict(
            ids=evidence.ids,
            labels=evidence.labels,
            score=scores[0],
            p_clean=p_given,
            flagged=flagged,
            suggested=np.where(flagged, classes[most_likely], evidence.labels),
            suggested_confidence=np.where(flagged, (1 - p_given) * p_predicted, p_given),
            made_by={"method": self.kind, "parameters": {}, "threshold": self.threshold},
        )
        return Selection(np.ones(n, dtype=bool), np.ones(n), target=target, verdict=verdict)

    def _trust(self, p_given: Float64s, p_predicted: Float64s, epoch: int) -> Float64s:
        """Weight of the given label in each target; the remainder is the weight of the prediction."""
        random = tagged_generator([self.seed, epoch], "trust").random(len(p_given))
        return np.where(p_given > self.threshold, 1.0, np.where(p_predicted > self.threshold, 0.0, random))


def mixed_targets(given: Ints, predicted: Ints, trust: Float64s, n_classes: int) -> Float64s:
    """n x K: ``trust`` on the given class, the rest on the predicted one.

    >>> mixed_targets(np.array([0, 1]), np.array([1, 1]), np.array([0.25, 0.5]), 2)
    array([[0.25, 0.75], [0.  , 1.  ]])
    """
    target = np.zeros((len(given), n_classes))
    target[np.arange(len(given)), given] = trust
    target[np.arange(len(given)), predicted] += 1.0 - trust
    return target
