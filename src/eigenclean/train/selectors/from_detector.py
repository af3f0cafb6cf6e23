"""Any detector as a selector: train on the labels it does not flag."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from eigenclean.arrays import Array
from eigenclean.detect import Detector
from eigenclean.detect.registry import DETECTORS, build_detector
from eigenclean.errors import EigencleanWarning, InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train.component import json_options
from eigenclean.train.probe.model import MAX_KERNEL_COLUMNS
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory, Selector


@dataclass(frozen=True)
class FromDetector(Selector):
    """The adapter between training and detectors.

    The detector is fitted to the samples kept last time but scores all of them, so a dropped sample can return.

    Attributes:
        name: name of the detector.
        options: its options; ``{"cut": "beta", "cut.split": "always"}`` sets the cut and an option of it. A
            detector of logits takes those of the network itself with ``{"head": None}``.
        learn_from: fit the detector to the samples "kept" last time or to "all" samples, as the paper does inside
            semi-supervised methods.
        soft: weight each kept sample by the probability that its label is right; otherwise all weights are 1.

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
        object.__setattr__(self, "options", json_options(self.options, by=f"selector {self.name}"))
        if self.learn_from not in ("kept", "all"):
            raise InvalidOption(f"selector: learn_from must be 'kept' or 'all', got {self.learn_from!r}")
        self._detector()  # reports a wrong name or option before the training

    @classmethod
    def for_detector(cls, name: str, options: Mapping[str, Any], *, soft: bool) -> "FromDetector":
        """The selector for any detector; semi-supervised steps use probabilities and refit to all samples."""
        return cls(name, {**training_options(name, soft=soft), **options}, "all" if soft else "kept", soft)

    @property
    def needs(self) -> tuple[str, ...]:
        """What the detector consumes."""
        return (self._detector().consumes,)

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The samples whose labels are not flagged by a detector that is fitted now."""
        detector = self._prepare_detector(evidence, memory)
        values = self._detector_input(evidence)
        mask = previous.keep if previous is not None and self.learn_from == "kept" else None
        with warnings.catch_warnings():
            # The notes of the verdict say the same, and the warning would be repeated at every selection.
            warnings.simplefilter("ignore", EigencleanWarning)
            verdict = detector.fit_judge(values, evidence.labels, sample_weight=mask, ids=evidence.ids)
        weight = np.asarray(verdict.p_clean, dtype=np.float64) if self.soft else np.ones(len(evidence))
        return Selection(~verdict.flagged, weight, verdict=verdict)

    def _detector_input(self, evidence: Evidence) -> Array:
        """The field of the evidence that the detector is fitted to."""
        return evidence.need(self.needs[0], by=self.name)

    def _prepare_detector(self, evidence: Evidence, memory: Memory) -> Detector:
        """The detector before it is fitted."""
        return self._detector()

    def _detector(self) -> Detector:
        return build_detector(self.name, self.options)


@dataclass(frozen=True)
class FromInputs(FromDetector):
    """The detector is fitted to the inputs if these are vectors; for images, to the features of the network.

    Input vectors are rows of a table, or features of another network that never saw these labels. A head trained on
    them soon memorises wrong labels, and the judge would then find these labels confirmed by the hidden layer.
    Vectors with few columns are judged with the options of the recipe `probe`.

    Attributes:
        options: those that were asked for; the usual ones for inputs or features are added at each selection.

    >>> FromInputs("judge").needs
    ('features', 'inputs')
    """

    kind: ClassVar[str] = "detector-of-inputs"
    default_for: ClassVar[tuple[str, ...]] = ("judge",)

    @classmethod
    def for_detector(cls, name: str, options: Mapping[str, Any], *, soft: bool) -> "FromInputs":
        """Only the options that were asked for: the others depend on what the detector is fitted to."""
        return cls(name, options, "all" if soft else "kept", soft)

    @property
    def needs(self) -> tuple[str, ...]:
        """What the detector consumes, and the inputs."""
        return (*super().needs, "inputs")

    def _detector_input(self, evidence: Evidence) -> Array:
        return super()._detector_input(evidence) if evidence.inputs is None else evidence.inputs

    def _prepare_detector(self, evidence: Evidence, memory: Memory) -> Detector:
        usual, of_name = training_options(self.name, soft=self.soft), DETECTORS[self.name]
        if evidence.inputs is not None and evidence.inputs.shape[1] <= MAX_KERNEL_COLUMNS:
            # Classes of a table are seldom linear in its columns, as they are in the features of a network.
            usual = {**of_name.probe_options}
        elif evidence.inputs is not None:
            usual = {name: value for name, value in usual.items() if name not in of_name.in_sample_options}
        return build_detector(self.name, {**usual, **self.options})


def training_options(name: str, *, soft: bool) -> dict[str, Any]:
    """The options with which training uses the detector of that name on the features of its network."""
    detector = DETECTORS[name]
    return {**detector.training_options, **(detector.semi_supervised_options if soft else {})}
