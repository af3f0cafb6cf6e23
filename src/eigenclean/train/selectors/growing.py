"""TopoFilter in training: samples that were kept once stay candidates (Wu et al., 2020)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

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
    """Each selection adds the largest components to the samples kept before, then removes outliers.

    >>> Growing().needs
    ('features',)
    """

    name: str = "topofilter"

    kind: ClassVar[str] = "growing"
    default_for: ClassVar[tuple[str, ...]] = ("topofilter",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self._detector(), TopoFilter):
            raise InvalidOption(f"selector growing: only the detector topofilter grows a set, got {self.name!r}")

    @classmethod
    def for_detector(cls, name: str, options: Mapping[str, Any], *, soft: bool) -> "Growing":
        """The selector for TopoFilter, whose neighbour graph always has all samples."""
        return cls(name, options, learn_from="all", soft=soft)

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The samples that TopoFilter keeps now, which the next selection starts from."""
        selection = super().select(evidence, epoch, previous, memory)
        memory[_KEPT] = selection.keep
        return selection

    def _prepare_detector(self, evidence: Evidence, memory: Memory) -> Detector:
        detector = self._detector()
        assert isinstance(detector, TopoFilter)
        return detector.adding_to(memory.get(_KEPT))
