"""A detector as a selector that uses the inputs of the network instead of its features."""

from dataclasses import dataclass
from typing import ClassVar

from eigenclean.arrays import Array
from eigenclean.detect import Detector
from eigenclean.evidence import Evidence
from eigenclean.train.selectors.from_detector import FromDetector


@dataclass(frozen=True)
class FromInputs(FromDetector):
    """The detector is fitted to the inputs if these are vectors; for images, to the features of the network.

    Input vectors are mostly features of another network that never saw these labels. A head trained on them soon
    memorises wrong labels, and the judge would then find these labels confirmed by the hidden layer.

    >>> FromInputs("judge").needs
    ('features', 'inputs')
    """

    kind: ClassVar[str] = "detector-of-inputs"
    default_for: ClassVar[tuple[str, ...]] = ("judge",)

    @property
    def needs(self) -> tuple[str, ...]:
        """What the detector consumes, and the inputs."""
        return (*super().needs, "inputs")

    def _detector_input(self, evidence: Evidence, detector: Detector) -> Array:
        return super()._detector_input(evidence, detector) if evidence.inputs is None else evidence.inputs
