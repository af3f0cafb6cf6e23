"""Co-teaching's selection: in every batch, the samples of smallest loss (Han et al., 2018)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from eigenclean.errors import InvalidOption
from eigenclean.train.selectors.base import BatchSelector

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class SmallestLosses(BatchSelector):
    """Drops a fraction of each batch that grows from 0 to ``forget_rate``.

    Attributes:
        forget_rate: final fraction of each batch that is dropped: an estimate of the noise rate.
        ramp: epochs in which the fraction grows; the last of them has the full rate.

    >>> [round(SmallestLosses(0.4, ramp=5).dropped_fraction(epoch), 2) for epoch in range(1, 8)]
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.4, 0.4]
    """

    forget_rate: float = 0.2
    ramp: int = 10

    kind: ClassVar[str] = "smallest-losses"

    def __post_init__(self) -> None:
        if not 0 <= self.forget_rate < 1:
            raise InvalidOption(f"selector: forget_rate must be from 0 to below 1, got {self.forget_rate}")
        if self.ramp < 1:
            raise InvalidOption(f"selector: ramp must be at least 1, got {self.ramp}")

    def dropped_fraction(self, epoch: int) -> float:
        """Fraction of each batch that is dropped in that epoch."""
        if epoch > self.ramp:
            return self.forget_rate
        return self.forget_rate * (epoch - 1) / max(self.ramp - 1, 1)

    def scaled(self, factor: float) -> "SmallestLosses":
        """The same selector with the ramp scaled by ``factor``."""
        return replace(self, ramp=max(1, round(self.ramp * factor)))

    def pick(
        self, logits: "Sequence[Tensor]", losses: "Sequence[Tensor]", epoch: int, batch: int
    ) -> "list[Tensor]":
        """For each network, its samples of smallest loss."""
        return [self._smallest(network_losses, epoch) for network_losses in losses]

    def _smallest(self, losses: "Tensor", epoch: int) -> "Tensor":
        n = int((1 - self.dropped_fraction(epoch)) * len(losses) + 1e-9)  # 0.9 · 10 is 9, not 8.999…
        mask = losses.new_zeros(len(losses)).bool()
        # If rounding leaves no sample, the whole batch is used.
        mask[losses.argsort(stable=True)[: n or len(losses)]] = True
        return mask
