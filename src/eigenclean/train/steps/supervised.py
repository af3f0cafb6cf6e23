"""Supervised training: the weighted mean loss of the kept samples."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from eigenclean.losses.base import Loss
from eigenclean.train.steps.base import Batch, ForwardFunction, Step, StepResult, TrainingProgress

_TINY = 1e-12


@dataclass(frozen=True)
class Supervised(Step):
    """Train on the targets of the kept samples; the others are not used."""

    weighted: ClassVar[bool] = True

    def __call__(
        self,
        net: ForwardFunction,
        peer: nn.Module | None,
        kept: Batch,
        rest: Batch | None,
        loss: Loss,
        progress: TrainingProgress,
    ) -> StepResult:
        """Weighted mean loss of the kept samples."""
        _, logits = net(kept.inputs)
        values = loss(logits, kept.target, kept.index)
        if kept.weight is None:
            return StepResult(values.mean(), logits)
        # One of several processes may have no sample with a weight: its loss is then 0, not 0/0.
        return StepResult((values * kept.weight).sum() / kept.weight.sum().clamp(min=_TINY), logits)
