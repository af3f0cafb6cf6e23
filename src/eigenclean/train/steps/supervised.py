"""The ordinary step: the weighted mean loss of the kept samples."""

from dataclasses import dataclass

from torch import nn

from eigenclean.losses.base import Loss
from eigenclean.train.steps.base import Batch, Outcome, Progress, Step


@dataclass(frozen=True)
class Supervised(Step):
    """Learn the targets of the kept samples; the others are left alone."""

    def __call__(
        self,
        net: nn.Module,
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
        return Outcome((values * kept.weight).sum() / kept.weight.sum(), logits)
