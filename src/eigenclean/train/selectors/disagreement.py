"""Co-teaching+: of the samples on which two networks disagree, those of smallest loss (Yu et al., 2019)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eigenclean.errors import InvalidOption
from eigenclean.train.selectors.smallest_losses import SmallestLosses

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Disagreement(SmallestLosses):
    """In each batch, the samples of smallest loss among those with different predictions of the two networks.

    Attributes:
        forget_rate: final fraction of the disputed samples that is dropped.
        ramp: epochs in which that fraction grows.
        patience: a batch without disagreement is used whole while (completed epochs) x (number of the batch) is
            below this; later it is skipped.
    """

    patience: int = 5000

    kind: ClassVar[str] = "disagreement"

    def pick(
        self, logits: "Sequence[Tensor]", losses: "Sequence[Tensor]", epoch: int, batch: int
    ) -> "list[Tensor]":
        """For each network, its disputed samples of smallest loss."""
        if len(logits) != 2:
            raise InvalidOption(f"selector disagreement: needs two networks that disagree, got {len(logits)}")
        disputed = logits[0].argmax(dim=1) != logits[1].argmax(dim=1)
        if not disputed.any():
            early = (epoch - 1) * batch < self.patience
            return [disputed.logical_not() if early else disputed] * 2
        return [self._smallest_disputed(network_losses, disputed, epoch) for network_losses in losses]

    def _smallest_disputed(self, losses: "Tensor", disputed: "Tensor", epoch: int) -> "Tensor":
        rows = disputed.nonzero().squeeze(1)
        mask = disputed.logical_and(disputed.logical_not())
        mask[rows[self._smallest(losses[rows], epoch)]] = True
        return mask
