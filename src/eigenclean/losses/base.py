"""The interface of losses: logits, targets and row indices in, one value per sample out."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor, nn

from eigenclean.evidence import Evidence


class Loss(nn.Module):
    """A loss with one value per sample, so that selections and weights apply after it.

    Values that a loss stores about single samples are buffers made by `prepare`, indexed by row in the whole data
    set: they stay valid under any selection and go into checkpoints. They are written in training mode only, so
    evaluation on other data (``loss.eval()``) does not change them.

    Attributes:
        options: names of the options that `make_loss` accepts for it.
        needs: fields of `Evidence` that `estimate` needs from the networks trained so far; empty for most losses.
    """

    options: ClassVar[Sequence[str]] = ()
    needs: Sequence[str] = ()

    def prepare(self, n_samples: int, n_classes: int) -> None:
        """Register per-sample buffers; called once, before the first batch. Most losses have none."""

    def estimate(self, evidence: Evidence) -> None:
        """Estimate parameters of the loss; called once after `prepare` if an earlier stage has trained networks."""

    def begin_epoch(self, epoch: int) -> None:
        """Update schedules; called before the first batch of every epoch, counted from 1."""

    @abstractmethod
    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample.

        Args:
            logits: m x K.
            target: m class numbers, or m x K probabilities.
            index: row of each sample in the whole data set.
        """
