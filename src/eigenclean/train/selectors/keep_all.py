"""Learn from everything: no selection."""

from dataclasses import dataclass
from typing import ClassVar

from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory, Selector


@dataclass(frozen=True)
class KeepAll(Selector):
    """All samples, right or wrong."""

    kind: ClassVar[str] = "keep-all"

    def select(self, evidence: Evidence, epoch: int, before: Selection | None, memory: Memory) -> Selection:
        """Everything."""
        return Selection.everything(len(evidence))
