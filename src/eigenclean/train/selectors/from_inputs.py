"""A detector as a selector that looks at what the network is given, not at what it makes of it."""

from dataclasses import dataclass
from typing import ClassVar

from eigenclean.arrays import Array
from eigenclean.detect import Detector
from eigenclean.evidence import Evidence
from eigenclean.train.selectors.from_detector import FromDetector


@dataclass(frozen=True)
class FromInputs(FromDetector):
    """The same, on the inputs themselves where these are vectors; of images it sees the network's features.

    Vectors are mostly features of another network, which never saw these labels. A head that learns from them soon
    knows wrong labels by heart, and its hidden layer then speaks for these.

    >>> FromInputs("judge").needs
    ('features', 'inputs')
    """

    kind: ClassVar[str] = "detector-of-inputs"

    @property
    def needs(self) -> tuple[str, ...]:
        """What the detector consumes, and the inputs."""
        return (*super().needs, "inputs")

    def _seen(self, evidence: Evidence, judge: Detector) -> Array:
        return super()._seen(evidence, judge) if evidence.inputs is None else evidence.inputs
