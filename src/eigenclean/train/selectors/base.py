"""The interface of selectors: evidence about the samples in, a selection out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from eigenclean.arrays import Array
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection

if TYPE_CHECKING:
    from torch import Tensor

Memory = dict[str, Array]


@dataclass(frozen=True)
class Selector(ABC):
    """Chooses the samples to train on. A selector is a value: it prints and compares by its options.

    Attributes:
        kind: name in the `SELECTORS` table.
        scope: "pool" selects from all samples every few epochs, "batch" inside each batch.
        default_for: names of the detectors for which `make_selector` gives this selector.
    """

    kind: ClassVar[str]
    scope: ClassVar[Literal["pool", "batch"]] = "pool"
    default_for: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def for_detector(cls, name: str, options: Mapping[str, Any], *, soft: bool) -> "Selector":
        """The selector that uses the detector of that name; selectors with a ``default_for`` implement it."""
        raise NotImplementedError(f"selector {cls.kind} does not use a detector")

    @property
    def needs(self) -> tuple[str, ...]:
        """Fields of `NetworkEvidence` it needs; with none, no forward pass is made for it."""
        return ()

    @abstractmethod
    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """The samples to train on from now on.

        Args:
            evidence: what `needs` asks for, of all samples.
            epoch: the epoch that is about to begin, counted from 1.
            previous: the selection this network was trained on so far; None before the first.
            memory: arrays that the selector keeps about this network from one call to the next, also in a resumed
                run and after a restart; one row per sample where they are about samples.

        After an empty selection the engine keeps the previous one.
        """

    def scaled(self, factor: float) -> Self:
        """The same selector for a run that is ``factor`` times as long; most do not count epochs."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class BatchSelector(Selector):
    """Selects inside each batch; all samples go into batches."""

    scope: ClassVar[Literal["pool", "batch"]] = "batch"

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """All samples: which of them are trained on is decided batch by batch."""
        return Selection.all_samples(len(evidence))

    def at_end(self) -> Selector | None:
        """A selector of all samples that gives the verdict when the training is over; None for no verdict."""
        return None

    @abstractmethod
    def pick(
        self, logits: "Sequence[Tensor]", losses: "Sequence[Tensor]", epoch: int, batch: int
    ) -> "list[Tensor]":
        """For each network, a mask over the batch of the samples it trusts.

        Args:
            logits: m x K of each network.
            losses: m of each network, the cross-entropy of the given labels.
            epoch: counted from 1.
            batch: number of the batch in the epoch, counted from 0.

        A network is not updated with an empty mask.
        """


def check_threshold(threshold: float) -> None:
    """Raise `InvalidOption` unless a posterior can be above it."""
    if not 0 <= threshold < 1:
        raise InvalidOption(f"selector: threshold must be from 0 to below 1, got {threshold}")


@dataclass(frozen=True)
class KeepAll(Selector):
    """All samples, whether their labels are right or wrong."""

    kind: ClassVar[str] = "keep-all"

    def select(self, evidence: Evidence, epoch: int, previous: Selection | None, memory: Memory) -> Selection:
        """All samples with weight 1."""
        return Selection.all_samples(len(evidence))
