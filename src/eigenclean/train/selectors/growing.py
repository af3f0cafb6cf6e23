"""TopoFilter in training: what was kept once stays in the graph's set (Wu et al., 2020)."""

from dataclasses import dataclass
from typing import ClassVar

from eigenclean.detect import Detector
from eigenclean.detect.baselines.topofilter import TopoFilter
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory
from eigenclean.train.selectors.from_detector import FromDetector

_KEPT = "kept so far"


@dataclass(frozen=True)
class Growing(FromDetector):
    """Each round adds the largest components to what the rounds before have kept, then leaves out the outliers.

    >>> Growing().needs
    ('features',)
    """

    name: str = "topofilter"

    kind: ClassVar[str] = "growing"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name != "topofilter":
            raise InvalidOption(f"selector growing: only the detector topofilter grows a set, got {self.name!r}")

    def select(self, evidence: Evidence, epoch: int, before: Selection | None, memory: Memory) -> Selection:
        """What is kept now, which is remembered."""
        found = super().select(evidence, epoch, before, memory)
        memory[_KEPT] = found.keep
        return found

    def _prepared(self, memory: Memory) -> Detector:
        judge = self._detector()
        assert isinstance(judge, TopoFilter)
        return judge.adding_to(memory.get(_KEPT))
