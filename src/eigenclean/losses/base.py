"""What every loss is: logits, targets and original indices in, one value per sample out."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor, nn


class Loss(nn.Module):
    """A loss with one value per sample, so that selections and weights apply after it.

    What a loss remembers of single samples goes into buffers made by `prepare` and is addressed by the original
    index: it then stays right under any selection, and goes into checkpoints by itself.
    """

    options: ClassVar[Sequence[str]] = ()

    def prepare(self, n_samples: int, n_classes: int) -> None:
        """Called once, before the first batch; most losses remember nothing."""

    @abstractmethod
    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample.

        Args:
            logits: m x K.
            target: m class numbers, or m x K probabilities.
            index: position of each sample in the whole data set.
        """
