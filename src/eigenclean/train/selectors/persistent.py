"""LongReMix: trust what is found clean again and again, then train anew on that core (Cordeiro et al., 2023)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from eigenclean.arrays import Bools
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory
from eigenclean.train.selectors.from_detector import FromDetector

_FOUND, _CORE = "found clean", "core"


@dataclass(frozen=True)
class Persistent(FromDetector):
    """Samples that the detector has found clean in each of the last rounds.

    The largest set so selected is remembered as the core, for a `Guided` selector in a later stage.

    Attributes:
        window: rounds in a row.
        watch: only watch, and keep everything: for the warm-up, whose rounds count.
        core_after: sets selected up to this epoch are not remembered as the core.
    """

    window: int = 5
    watch: bool = False
    core_after: int = 0

    kind: ClassVar[str] = "persistent"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window < 1:
            raise InvalidOption(f"selector: window must be at least 1, got {self.window}")

    def scaled(self, factor: float) -> "Persistent":
        """The epoch from which the core counts shrinks and grows with the run."""
        return replace(self, core_after=round(self.core_after * factor))

    def select(self, evidence: Evidence, epoch: int, before: Selection | None, memory: Memory) -> Selection:
        """The samples found clean this time and all the times before."""
        found = super().select(evidence, epoch, before, memory)
        rounds = np.concatenate([memory.get(_FOUND, found.keep[None][:0]), found.keep[None]])[-self.window :]
        memory[_FOUND] = rounds
        if self.watch:
            return replace(Selection.everything(len(evidence)), verdict=found.verdict)
        keep: Bools = np.asarray(rounds.all(axis=0))
        if epoch > self.core_after and keep.sum() >= memory.get(_CORE, keep[:0]).sum():
            memory[_CORE] = keep
        return replace(found, keep=keep)


@dataclass(frozen=True)
class Guided(FromDetector):
    """What the detector finds clean, and the core that a `Persistent` selector left behind, with full weight."""

    kind: ClassVar[str] = "guided"

    def select(self, evidence: Evidence, epoch: int, before: Selection | None, memory: Memory) -> Selection:
        """The detector's choice and the core."""
        found = super().select(evidence, epoch, before, memory)
        core = memory.get(_CORE)
        if core is None:
            return found
        return replace(found, keep=found.keep | core, weight=np.where(core, 1.0, found.weight))
