"""What every loss is: logits, targets and original indices in, one value per sample out."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

from torch import Tensor, nn

from eigenclean.evidence import Evidence


class Clock(Protocol):
    """How far the training is, as far as losses care; the engine's `Progress` is one."""

    @property
    def epoch(self) -> int:
        """The epoch that begins, counted from 1."""


class Loss(nn.Module):
    """A loss with one value per sample, so that selections and weights apply after it.

    What a loss remembers of single samples goes into buffers made by `prepare` and is addressed by the original
    index: it then stays right under any selection, and goes into checkpoints by itself. It is written in training
    mode only, so a look at validation data (``loss.eval()``) leaves no trace.

    Attributes:
        options: names of the options that `make_loss` accepts for it.
        needs: what `learn` wants to see of the networks trained so far (fields of `Evidence`); nothing for most.
    """

    options: ClassVar[Sequence[str]] = ()
    needs: Sequence[str] = ()

    def prepare(self, n_samples: int, n_classes: int) -> None:
        """Called once, before the first batch; most losses remember nothing."""

    def learn(self, evidence: Evidence) -> None:
        """Called once after `prepare`, with what `needs` asks for, if another stage has been trained before."""

    def begin_epoch(self, progress: Clock) -> None:
        """Called before the first batch of every epoch; losses with a schedule look at ``progress.epoch``."""

    @abstractmethod
    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample.

        Args:
            logits: m x K.
            target: m class numbers, or m x K probabilities.
            index: position of each sample in the whole data set.
        """
