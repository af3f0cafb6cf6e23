"""AUM in training: labels with a large mean margin over the epochs so far (Pleiss et al., 2020)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from eigenclean.arrays import encode_labels
from eigenclean.detect.baselines.small_loss import SharedMixtureCut
from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory, Selector, check_threshold
from eigenclean.verdict import Verdict


@dataclass(frozen=True)
class AreaUnderMargin(Selector):
    """A two-component mixture on the margin of each label, averaged over the epochs in which it was trained on.

    A wrong label that is memorised in the end had a negative margin for many epochs before. The published threshold
    needs an additional class and a second training for the samples assigned to it; a mixture needs neither.

    Attributes:
        threshold: samples are kept when the posterior of the component with the larger margins is above it.
        soft: weight each kept sample by that posterior; otherwise all weights are 1.
    """

    threshold: float = 0.5
    soft: bool = False

    kind: ClassVar[str] = "area-under-margin"
    default_for: ClassVar[tuple[str, ...]] = ("aum",)

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    @classmethod
    def for_detector(cls, name: str, options: Mapping[str, Any], *, soft: bool) -> "AreaUnderMargin":
        """The selector for the detector aum, which takes its margins from a linear head instead."""
        return cls(soft=soft, **options)

    @property
    def needs(self) -> tuple[str, ...]:
        """The margins so far, and the current logits for the suggested labels."""
        return ("margins", "logits")

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The samples in the mixture component of large margins."""
        by = f"selector {self.kind}"
        classes, codes = encode_labels(evidence.labels)
        score = evidence.need("margins", by=by)
        p = SharedMixtureCut().fit(score, codes).p_clean(score, codes)
        flagged = p <= self.threshold
        probabilities = softmax(evidence.need("logits", by=by), axis=1)
        verdict = Verdict(
            ids=evidence.ids,
            labels=evidence.labels,
            score=score,
            p_clean=p,
            flagged=flagged,
            suggested=np.where(flagged, classes[probabilities.argmax(axis=1)], evidence.labels),
            suggested_confidence=np.where(flagged, (1 - p) * probabilities.max(axis=1), p),
            made_by={"method": "aum", "parameters": {"over": "epochs"}, "threshold": self.threshold},
        )
        return Selection(~flagged, p if self.soft else np.ones(len(p)), verdict=verdict)
