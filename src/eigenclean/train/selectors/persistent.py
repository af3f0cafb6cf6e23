"""LongReMix: samples that are repeatedly found clean form a core for a second training (Cordeiro et al., 2023)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from eigenclean.arrays import Bools
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.base import Memory
from eigenclean.train.selectors.from_detector import FromDetector

_CLEAN, _CORE = "found clean", "core"


@dataclass(frozen=True)
class Persistent(FromDetector):
    """Samples that the detector has found clean in each of the last selections.

    The largest such set is stored as the core, for a `Guided` selector in a later stage.

    Attributes:
        window: number of consecutive selections.
        watch: keep all samples but count the selection: for the warm-up.
        core_after: sets selected up to this epoch are not stored as the core.
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
        """The same selector with ``core_after`` scaled by ``factor``."""
        return replace(self, core_after=round(self.core_after * factor))

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The samples found clean in this selection and in the others of the window."""
        selection = super().select(evidence, epoch, previous, memory)
        rounds = np.concatenate([memory.get(_CLEAN, selection.keep[None][:0]), selection.keep[None]])[
            -self.window :
        ]
        memory[_CLEAN] = rounds
        if self.watch:
            return replace(Selection.all_samples(len(evidence)), verdict=selection.verdict)
        keep: Bools = np.asarray(rounds.all(axis=0))
        if epoch > self.core_after and keep.sum() >= memory.get(_CORE, keep[:0]).sum():
            memory[_CORE] = keep
        return replace(selection, keep=keep)


@dataclass(frozen=True)
class Guided(FromDetector):
    """The samples that the detector finds clean, and the core of a `Persistent` selector with weight 1."""

    kind: ClassVar[str] = "guided"

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The samples that the detector finds clean, and the core."""
        selection = super().select(evidence, epoch, previous, memory)
        core = memory.get(_CORE)
        if core is None:
            return selection
        return replace(selection, keep=selection.keep | core, weight=np.where(core, 1.0, selection.weight))
