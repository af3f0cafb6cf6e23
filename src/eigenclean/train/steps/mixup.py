"""Mix-up: learn mixtures of samples and of their targets (Zhang et al., 2018)."""

from dataclasses import dataclass

import torch
from torch import nn

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Loss
from eigenclean.train.steps.base import Answers, Batch, Outcome, Progress, Step
from eigenclean.train.steps.mixing import as_probabilities, draw_share, mix, prior_penalty


@dataclass(frozen=True)
class MixUp(Step):
    """Every sample is mixed with another one of its batch.

    Attributes:
        alpha: of the Beta distribution of the shares.
        penalty: weight of the penalty on predicting some classes more often than others.
    """

    alpha: float = 4.0
    penalty: float = 1.0

    def __post_init__(self) -> None:
        if self.alpha <= 0:
            raise InvalidOption(f"step mixup: alpha must be above 0, got {self.alpha}")

    def __call__(
        self,
        net: Answers,
        peer: nn.Module | None,
        kept: Batch,
        rest: Batch | None,
        loss: Loss,
        progress: Progress,
    ) -> Outcome:
        """Mean loss of the mixtures."""
        share, order = draw_share(self.alpha, kept.inputs.device), torch.randperm(len(kept.inputs))
        order = order.to(kept.inputs.device)
        _, logits = net(mix(kept.inputs, share, order))
        target = mix(as_probabilities(kept.target, logits.shape[1]), share, order)
        values = loss(logits, target, kept.index)
        return Outcome(values.mean() + self.penalty * prior_penalty(logits), logits)
