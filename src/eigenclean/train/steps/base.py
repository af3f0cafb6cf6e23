"""The interface of steps: a batch in, the loss to minimise out."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from eigenclean.losses.base import Loss

ForwardFunction = Callable[[Tensor], tuple[Tensor, Tensor]]  # inputs to (features, logits): usually a network


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some samples of one batch.

    Attributes:
        inputs: m x ….
        target: m class numbers, or m x K probabilities.
        weight: m; None when all weights are 1.
        index: row of each sample in the whole data set.
        extra_views: further independently augmented views of the same samples, for steps that need them.
    """

    inputs: Tensor
    target: Tensor
    weight: Tensor | None
    index: Tensor
    extra_views: tuple[Tensor, ...] = ()

    @property
    def views(self) -> tuple[Tensor, ...]:
        """All augmented views of the samples."""
        return (self.inputs, *self.extra_views)

    def with_weight(self, weight: Tensor) -> "Batch":
        """The same samples with other weights."""
        return replace(self, weight=weight)


class TrainingProgress(NamedTuple):
    """How far the training is, for steps whose weights ramp up.

    Attributes:
        epoch: counted from 1.
        stage_epoch: completed epochs of this stage, with the fraction of the current one.
    """

    epoch: int
    stage_epoch: float


class StepResult(NamedTuple):
    """The result of a step.

    Attributes:
        loss: the scalar to minimise.
        logits: of the kept samples (or anything with the same argmax), for the training accuracy; None when there
            are none.
    """

    loss: Tensor
    logits: Tensor | None


@dataclass(frozen=True)
class Step(ABC):
    """One optimisation step of one network; its fields are its options.

    Attributes:
        n_views: number of augmented views of each sample that it needs.
        weighted: whether its loss is a mean weighted by the weights of the kept samples; otherwise a plain mean.
    """

    n_views: ClassVar[int] = 1
    weighted: ClassVar[bool] = False

    def n_batches(self, n_kept: int, n_rest: int, size: int) -> int | None:
        """Batches of an epoch; None goes once through the kept samples."""
        return None

    @abstractmethod
    def __call__(
        self,
        net: ForwardFunction,
        peer: nn.Module | None,
        kept: Batch,
        rest: Batch | None,
        loss: Loss,
        progress: TrainingProgress,
    ) -> StepResult:
        """The loss of a batch.

        Args:
            net: the network that is trained.
            peer: the other network, if there are two.
            kept: samples whose labels are trusted.
            rest: samples whose labels are not, for steps that use them; None when there are none.
            loss: the loss of the stage.
            progress: how far the training is.
        """
