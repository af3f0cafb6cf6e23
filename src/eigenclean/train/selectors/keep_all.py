"""No selection: train on all samples."""

from dataclasses import dataclass
from typing import ClassVar

from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory, Selector


@dataclass(frozen=True)
class KeepAll(Selector):
    """All samples, whether their labels are right or wrong."""

    kind: ClassVar[str] = "keep-all"

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """All samples with weight 1."""
        return Selection.all_samples(len(evidence))
