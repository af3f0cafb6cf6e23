"""What every selector is: evidence in, a selection out."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from eigenclean.evidence import Evidence
from eigenclean.train.selection import Selection


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
    def select(self, evidence: Evidence, epoch: int, before: Selection | None) -> Selection:
        """Whom to learn from now.

        Args:
            evidence: what the network says about all samples.
            epoch: the epoch that is about to begin, counted from 1.
            before: what this network has learned from so far; None at the very beginning.

        A selection of nobody means "no opinion": the engine then goes on with the one before.
        """

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"kind": self.kind, **asdict(self)}
