"""What every selector is: evidence in, a selection out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from eigenclean.arrays import Array
from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection

if TYPE_CHECKING:
    from torch import Tensor

Memory = dict[str, Array]


@dataclass(frozen=True)
class Selector(ABC):
    """Chooses whom to learn from, as a value: it prints and compares by its options.

    Attributes:
        kind: name in the `SELECTORS` table.
        scope: "pool" looks at all samples every few epochs, "batch" at each batch as it comes.
    """

    kind: ClassVar[str]
    scope: ClassVar[Literal["pool", "batch"]] = "pool"

    @property
    def needs(self) -> tuple[str, ...]:
        """Kinds of evidence it looks at; with none, the network is not asked at all."""
        return ()

    @abstractmethod
    def select(self, evidence: Evidence, epoch: int, before: Selection | None, memory: Memory) -> Selection:
        """Whom to learn from now.

        Args:
            evidence: what the network says about all samples.
            epoch: the epoch that is about to begin, counted from 1.
            before: what this network has learned from so far; None at the very beginning.
            memory: arrays of one's own about this network, one row per sample where they are about samples. What
                is put here is here again next time, also in a resumed run and after a restart.

        A selection of nobody means "no opinion": the engine then goes on with the one before.
        """

    def scaled(self, factor: float) -> Self:
        """The same selector for a run that is so many times as long; most do not count epochs."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class BatchSelector(Selector):
    """Looks at each batch as it comes; all samples go into batches."""

    scope: ClassVar[Literal["pool", "batch"]] = "batch"

    def select(self, evidence: Evidence, epoch: int, before: Selection | None, memory: Memory) -> Selection:
        """Everything: who is learned from is decided batch by batch."""
        return Selection.everything(len(evidence))

    @abstractmethod
    def pick(
        self, logits: "Sequence[Tensor]", losses: "Sequence[Tensor]", epoch: int, batch: int
    ) -> "list[Tensor]":
        """What each network trusts: a mask over the batch for each.

        Args:
            logits: m x K of each network.
            losses: m of each network, the cross-entropy of the given labels.
            epoch: counted from 1.
            batch: number of the batch in the epoch, counted from 0.

        An empty mask leaves the network that learns from it as it is.
        """
