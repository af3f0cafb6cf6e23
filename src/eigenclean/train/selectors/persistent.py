"""LongReMix: samples that are repeatedly found clean form a core for a second training (Cordeiro et al., 2023)."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from eigenclean.arrays import Bools
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection
from eigenclean.train.selectors.averaged_losses import AveragedLosses
from eigenclean.train.selectors.base import Memory
from eigenclean.train.selectors.from_detector import FromDetector

_CLEAN, _CORE = "found clean", "core"


class _GuidedLosses(AveragedLosses):
    """The averages of the second stage, whose networks are fresh: losses of the first one do not belong to them."""

    memory_key: ClassVar[str] = "losses of the guided stage"


@dataclass(frozen=True)
class Dividing(FromDetector):
    """The division of LongReMix: by the detector, or by losses that are averaged over several divisions.

    Attributes:
        average: divisions whose losses are averaged, for very noisy labels; 1 asks the detector, whose threshold
            applies to the averages too.
    """

    average: int = field(default=1, kw_only=True)

    averages: ClassVar[type[AveragedLosses]] = AveragedLosses

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average < 1:
            raise InvalidOption(f"selector: average must be at least 1, got {self.average}")
        if self.average > 1 and self.name != "small-loss":
            raise InvalidOption(f"selector: average is for the detector small-loss, got {self.name!r}")

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The samples in the component of small losses."""
        if self.average == 1:
            return super().select(evidence, epoch, previous, memory)
        averaged = self.averages(self.average, self.options.get("threshold", 0.5))
        return averaged.select(evidence, epoch, previous, memory)


@dataclass(frozen=True)
class Persistent(Dividing):
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
class Guided(Dividing):
    """The samples that the detector finds clean, and the core of a `Persistent` selector with weight 1."""

    kind: ClassVar[str] = "guided"
    averages: ClassVar[type[AveragedLosses]] = _GuidedLosses

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The samples that the detector finds clean, and the core."""
        selection = super().select(evidence, epoch, previous, memory)
        core = memory.get(_CORE)
        if core is None:
            return selection
        return replace(selection, keep=selection.keep | core, weight=np.where(core, 1.0, selection.weight))
