"""MixUp: train on convex combinations of samples and of their targets (Zhang et al., 2018)."""

from dataclasses import dataclass

import torch
from torch import nn

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Loss
from eigenclean.train.steps.base import Batch, ForwardFunction, Step, StepResult, TrainingProgress
from eigenclean.train.steps.mixing import as_probabilities, draw_coefficient, mix, prior_penalty


@dataclass(frozen=True)
class MixUp(Step):
    """Every sample is mixed with another sample of its batch.

    Attributes:
        alpha: parameter of the Beta distribution of the mixing coefficient.
        penalty: weight of the KL penalty between a uniform prior and the mean prediction.
    """

    alpha: float = 4.0
    penalty: float = 1.0

    def __post_init__(self) -> None:
        if self.alpha <= 0:
            raise InvalidOption(f"step mixup: alpha must be above 0, got {self.alpha}")

    def __call__(
        self,
        net: ForwardFunction,
        peer: nn.Module | None,
        kept: Batch,
        rest: Batch | None,
        loss: Loss,
        progress: TrainingProgress,
    ) -> StepResult:
        """Mean loss of the mixed samples."""
        coefficient, order = draw_coefficient(self.alpha, kept.inputs.device), torch.randperm(len(kept.inputs))
        order = order.to(kept.inputs.device)
        _, logits = net(mix(kept.inputs, coefficient, order))
        target = mix(as_probabilities(kept.target, logits.shape[1]), coefficient, order)
        values = loss(logits, target, kept.index)
        return StepResult(values.mean() + self.penalty * prior_penalty(logits), logits)
