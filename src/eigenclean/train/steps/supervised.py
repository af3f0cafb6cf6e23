"""The ordinary step: the weighted mean loss of the kept samples."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from eigenclean.losses.base import Loss
from eigenclean.train.steps.base import Answers, Batch, Outcome, Progress, Step

_NOTHING = 1e-12


@dataclass(frozen=True)
class Supervised(Step):
    """Learn the targets of the kept samples; the others are left alone."""

    weighted: ClassVar[bool] = True

    def __call__(
        self,
        net: Answers,
        peer: nn.Module | None,
        kept: Batch,
        rest: Batch | None,
        loss: Loss,
        progress: Progress,
    ) -> Outcome:
        """Mean loss of the batch, weighted."""
        _, logits = net(kept.inputs)
        values = loss(logits, kept.target, kept.index)
        if kept.weight is None:
            return Outcome(values.mean(), logits)
        # A process may have got none of the samples that count: its loss is then 0, not 0/0.
        return Outcome((values * kept.weight).sum() / kept.weight.sum().clamp(min=_NOTHING), logits)
