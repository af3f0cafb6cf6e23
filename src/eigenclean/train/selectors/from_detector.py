"""Any detector as a selector: learn from the labels it does not flag."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from eigenclean.arrays import Array
from eigenclean.detect import Detector
from eigenclean.detect.options import build_detector
from eigenclean.errors import EigencleanWarning, InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train.component import plain_options
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory, Selector


@dataclass(frozen=True)
class FromDetector(Selector):
    """The one adapter between training and the detectors.

    The detector learns from the samples kept last time but scores them all, so a discarded sample can return.

    Attributes:
        name: name of the detector.
        options: its options; ``{"cut": "beta", "cut.split": "always"}`` sets the cut and an option of it. A
            detector of logits takes those of the network itself with ``{"head": None}``.
        learn_from: "kept" teaches the detector with the samples kept last time, "all" with everything (what the
            paper does inside semi-supervised methods).
        soft: weight each kept sample by the probability that its label is right; else all count the same.

    >>> FromDetector("fine", {"preset": "paper"}).needs
    ('features',)
    >>> FromDetector("small-loss", {"head": None}).needs
    ('logits',)
    """

    name: str = "fine"
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    learn_from: Literal["kept", "all"] = "kept"
    soft: bool = False

    kind: ClassVar[str] = "detector"

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", plain_options(self.options, by=f"selector {self.name}"))
        if self.learn_from not in ("kept", "all"):
            raise InvalidOption(f"selector: learn_from must be 'kept' or 'all', got {self.learn_from!r}")
        self._detector()  # a wrong name or option is best heard of before the training

    @property
    def needs(self) -> tuple[str, ...]:
        """What the detector consumes."""
        return (self._detector().consumes,)

    def select(self, evidence: Evidence, epoch: int, before: Selection | None, memory: Memory) -> Selection:
        """The samples whose label is not flagged by a detector fitted now."""
        judge = self._prepared(memory)
        seen = self._seen(evidence, judge)
        taught = before.keep if before is not None and self.learn_from == "kept" else None
        with (
            warnings.catch_warnings()
        ):  # what it warns of stands in the verdict's notes, and would come every round
            warnings.simplefilter("ignore", EigencleanWarning)
            judge.fit(seen, evidence.labels, sample_weight=taught)
            verdict = judge.judge(seen, evidence.labels, ids=evidence.ids)
        weight = np.asarray(verdict.p_clean, dtype=np.float64) if self.soft else np.ones(len(evidence))
        return Selection(~verdict.flagged, weight, verdict=verdict)

    def _seen(self, evidence: Evidence, judge: Detector) -> Array:
        """What the detector looks at."""
        return evidence.need(self.needs[0], by=judge.name)

    def _prepared(self, memory: Memory) -> Detector:
        """The detector before it is fitted."""
        return self._detector()

    def _detector(self) -> Detector:
        return build_detector(self.name, self.options)
