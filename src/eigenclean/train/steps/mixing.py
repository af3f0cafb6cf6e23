"""The pieces of MixMatch: sharpening, mixing, ramps, and a prior on what is predicted."""

import torch
from torch import Tensor
from torch.nn import functional

_SMALLEST = 1e-12


def sharpen(p: Tensor, temperature: float) -> Tensor:
    """Probabilities to the power 1 / ``temperature``, made to add up to 1 again.

    >>> sharpen(torch.tensor([[0.6, 0.3, 0.1]]), 0.5)
    tensor([[0.7826, 0.1957, 0.0217]])
    """
    # In logarithms, and relative to the largest: small powers of small numbers would all be 0.
    return functional.softmax(p.clamp(min=_SMALLEST).log() / temperature, dim=1)


def mix(values: Tensor, share: float | Tensor, order: Tensor) -> Tensor:
    """Each row with another one: ``share`` of itself and the rest of the row that ``order`` puts in its place.

    >>> mix(torch.tensor([[0.0], [10.0]]), 0.75, torch.tensor([1, 0]))
    tensor([[2.5000], [7.5000]])
    """
    return share * values + (1 - share) * values[order]


def draw_share(alpha: float, device: torch.device) -> Tensor:
    """One Beta(α, α) number, or 1 minus it: whichever is larger, so that a row stays mostly itself."""
    concentration = torch.full((2,), alpha, dtype=torch.float32)
    share = torch.distributions.Dirichlet(concentration, validate_args=False).sample().max()
    return share.to(device)


def ramp_up(age: float, length: float) -> float:
    """From 0 to 1 in ``length`` epochs, then 1.

    >>> [ramp_up(age, 16) for age in (0.0, 4.0, 16.0, 40.0)]
    [0.0, 0.25, 1.0, 1.0]
    """
    return min(max(age / length, 0.0), 1.0) if length > 0 else 1.0


def prior_penalty(logits: Tensor) -> Tensor:
    """Σ π_c log(π_c / mean predicted p_c) for uniform π: 0 when all classes are predicted equally often.

    >>> prior_penalty(torch.tensor([[0.0, 0.0], [0.0, 0.0]]))
    tensor(0.)
    """
    mean = functional.softmax(logits.float(), dim=1).mean(dim=0).clamp(min=_SMALLEST)
    prior = 1.0 / logits.shape[1]
    return (prior * (prior / mean).log()).sum()


def as_probabilities(target: Tensor, n_classes: int) -> Tensor:
    """Class numbers as rows with a single 1; probabilities as they are."""
    return target.float() if target.is_floating_point() else functional.one_hot(target, n_classes).float()
