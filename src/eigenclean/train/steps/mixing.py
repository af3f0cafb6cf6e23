"""The pieces of MixMatch: sharpening, mixing, ramps, and a penalty on unbalanced predictions."""

import torch
from torch import Tensor
from torch.nn import functional

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
