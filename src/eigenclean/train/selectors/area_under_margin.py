"""AUM in training: labels that have won by a clear margin from the beginning (Pleiss et al., 2020)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from eigenclean.arrays import encode_labels
from eigenclean.detect.baselines.small_loss import SharedMixtureCut
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory, Selector
from eigenclean.verdict import Verdict


@dataclass(frozen=True)
class AreaUnderMargin(Selector):
    """A mixture of two on the margins of each label, averaged over the epochs in which it was learned.

    A wrong label that is learned by heart in the end has lost for many epochs before. The published threshold
    needs a class that does not exist, and a second training for the samples lent to it; a mixture needs neither.

    Attributes:
        threshold: samples are kept when the posterior of the component with the larger margins is above it.
        soft: weight each kept sample by that posterior; else all count the same.
    """

    threshold: float = 0.5
    soft: bool = False

    kind: ClassVar[str] = "area-under-margin"

    def __post_init__(self) -> None:
        if not 0 <= self.threshold < 1:
            raise InvalidOption(f"selector: threshold must be from 0 to below 1, got {self.threshold}")

    @property
    def needs(self) -> tuple[str, ...]:
        """The history, and the logits of today for the suggestions."""
        return ("margins", "logits")

    def select(self, evidence: Evidence, epoch: int, before: Selection | None, memory: Memory) -> Selection:
        """The samples in the component of large margins."""
        by = f"selector {self.kind}"
        classes, codes = encode_labels(evidence.labels)
        score = evidence.need("margins", by=by)
        p = SharedMixtureCut().fit(score, codes).p_clean(score, codes)
        flagged = p <= self.threshold
        today = softmax(evidence.need("logits", by=by), axis=1)
        verdict = Verdict(
            ids=evidence.ids,
            labels=evidence.labels,
            score=score,
            p_clean=p,
            flagged=flagged,
            suggested=np.where(flagged, classes[today.argmax(axis=1)], evidence.labels),
            suggested_confidence=np.where(flagged, (1 - p) * today.max(axis=1), p),
            made_by={"method": "aum", "parameters": {"over": "epochs"}, "threshold": self.threshold},
        )
        return Selection(~flagged, p if self.soft else np.ones(len(p)), verdict=verdict)
