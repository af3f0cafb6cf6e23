"""CORES²: in every batch, the labels that fit better than a label drawn at random (Cheng et al., 2021)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eigenclean.train.selectors.base import BatchSelector, Selector
from eigenclean.train.selectors.from_detector import FromDetector

if TYPE_CHECKING:
    from torch import Tensor

_TINY = 1e-8


@dataclass(frozen=True)
class Sieve(BatchSelector):
    """Keeps a label when its cross-entropy is at most the mean of −log(p_c + 1e-8) over all classes c.

    Batches are drawn from all samples and only masked, so an epoch has as many steps as before the sieve. To sieve
    the whole set before an epoch and fill the batches with what is left makes fewer steps, and costs accuracy.

    >>> Sieve().at_end().name
    'cores2'
    """

    kind: ClassVar[str] = "sieve"

    def pick(
        self, logits: "Sequence[Tensor]", losses: "Sequence[Tensor]", epoch: int, batch: int
    ) -> "list[Tensor]":
        """For each network, the labels of less than average loss."""
        return [
            network_losses <= -(values.softmax(dim=1) + _TINY).log().mean(dim=1)
            for values, network_losses in zip(logits, losses, strict=True)
        ]

    def at_end(self) -> Selector:
        """The detector that applies the same rule to all samples."""
        return FromDetector("cores2", {"head": None}, learn_from="all")
