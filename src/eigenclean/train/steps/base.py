"""What every step is: a batch in, the number to descend out."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from eigenclean.losses.base import Loss

Answers = Callable[[Tensor], tuple[Tensor, Tensor]]  # a network, or what it has already said


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some samples of one batch.

    Attributes:
        inputs: m x ….
        target: m class numbers, or m x K probabilities.
        weight: m; None when all count the same.
        index: position of each sample in the whole data set.
        more: further views of the same samples, varied anew, for steps that ask for them.
    """

    inputs: Tensor
    target: Tensor
    weight: Tensor | None
    index: Tensor
    more: tuple[Tensor, ...] = ()

    @property
    def views(self) -> tuple[Tensor, ...]:
        """All views of the samples."""
        return (self.inputs, *self.more)


class Progress(NamedTuple):
    """How far the training is: ramps look at it.

    Attributes:
        epoch: counted from 1.
        age: epochs of this stage that are over, with the fraction of the running one.
    """

    epoch: int
    age: float


class Outcome(NamedTuple):
    """What a step returns.

    Attributes:
        loss: the scalar to descend.
        logits: of the kept samples (or whatever else is largest for the predicted class), for the running accuracy;
            None when there are none.
    """

    loss: Tensor
    logits: Tensor | None


@dataclass(frozen=True)
class Step(ABC):
    """One move of one network; its fields are its options.

    Attributes:
        views: how many views of each sample it looks at.
        uses_rest: whether it also learns from the samples that are not kept.
        weighted: whether its loss is a mean weighted by the weights of the kept samples; else a plain mean.
    """

    views: ClassVar[int] = 1
    uses_rest: ClassVar[bool] = False
    weighted: ClassVar[bool] = False

    def n_batches(self, n_kept: int, n_rest: int, size: int) -> int | None:
        """Batches of an epoch; None goes once through the kept samples."""
        return None

    @abstractmethod
    def __call__(
        self,
        net: Answers,
        peer: nn.Module | None,
        kept: Batch,
        rest: Batch | None,
        loss: Loss,
        progress: Progress,
    ) -> Outcome:
        """The number to descend.

        Args:
            net: the network that learns.
            peer: the other one, if there are two.
            kept: samples whose labels are trusted.
            rest: samples whose labels are not, for steps that use them; None when there are none.
            loss: the loss of the stage.
            progress: how far the training is.
        """
