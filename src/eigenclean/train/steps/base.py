"""What every step is: a batch in, the number to descend out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn

from eigenclean.losses.base import Loss


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some samples of one batch.

    Attributes:
        inputs: m x ….
        target: m class numbers, or m x K probabilities.
        weight: m; None when all count the same.
        index: position of each sample in the whole data set.
    """

    inputs: Tensor
    target: Tensor
    weight: Tensor | None
    index: Tensor


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
        logits: of the kept samples, for the running accuracy; None when the step saw only mixtures of them.
    """

    loss: Tensor
    logits: Tensor | None


@dataclass(frozen=True)
class Step(ABC):
    """One move of one network; its fields are its options."""

    @abstractmethod
    def __call__(
        self,
        net: nn.Module,
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
            rest: samples whose labels are not, for steps that use them.
            loss: the loss of the stage.
            progress: how far the training is.
        """
