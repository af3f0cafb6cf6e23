"""Interpolation of samples: the MixUp step (Zhang et al., 2018) and the pieces of MixMatch."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Loss
from eigenclean.train.steps.base import Batch, ForwardFunction, Step, StepResult, TrainingProgress

_TINY = 1e-12


def sharpen(p: Tensor, temperature: float) -> Tensor:
    """Probabilities to the power 1 / ``temperature``, normalised to sum to 1.

    >>> sharpen(torch.tensor([[0.6, 0.3, 0.1]]), 0.5)
    tensor([[0.7826, 0.1957, 0.0217]])
    """
    # In logarithms, and relative to the largest: small powers of small numbers would all be 0.
    return functional.softmax(p.clamp(min=_TINY).log() / temperature, dim=1)


def mix(values: Tensor, coefficient: float | Tensor, order: Tensor) -> Tensor:
    """MixUp: ``coefficient`` times each row plus the remainder times the row that ``order`` assigns to it.

    >>> mix(torch.tensor([[0.0], [10.0]]), 0.75, torch.tensor([1, 0]))
    tensor([[2.5000], [7.5000]])
    """
    return coefficient * values + (1 - coefficient) * values[order]


def draw_coefficient(alpha: float, device: torch.device) -> Tensor:
    """The larger of λ and 1 − λ for λ from Beta(α, α), so that a mixed row stays closest to its own sample."""
    concentration = torch.full((2,), alpha, dtype=torch.float32)
    coefficient = torch.distributions.Dirichlet(concentration, validate_args=False).sample().max()
    return coefficient.to(device)


def ramp_up(epochs: float, length: float) -> float:
    """A linear ramp from 0 to 1 over ``length`` epochs, then 1.

    >>> [ramp_up(epochs, 16) for epochs in (0.0, 4.0, 16.0, 40.0)]
    [0.0, 0.25, 1.0, 1.0]
    """
    return min(max(epochs / length, 0.0), 1.0) if length > 0 else 1.0


def prior_penalty(logits: Tensor) -> Tensor:
    """KL divergence Σ π_c log(π_c / mean predicted p_c) from a uniform prior π: 0 for balanced predictions.

    >>> prior_penalty(torch.tensor([[0.0, 0.0], [0.0, 0.0]]))
    tensor(0.)
    """
    mean = functional.softmax(logits.float(), dim=1).mean(dim=0).clamp(min=_TINY)
    prior = 1.0 / logits.shape[1]
    return (prior * (prior / mean).log()).sum()


def as_probabilities(target: Tensor, n_classes: int) -> Tensor:
    """Class numbers as one-hot rows; probabilities as they are."""
    return target.float() if target.is_floating_point() else functional.one_hot(target, n_classes).float()


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
