"""Symmetric cross-entropy: plus the reverse cross-entropy, label and prediction exchanged (Wang et al., 2019)."""

import math
from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Loss, expected, log_probabilities, probabilities

_TINY = 1e-7


class SCE(Loss):
    """α · cross-entropy + β · reverse cross-entropy, −Σ p · log(target).

    Args:
        alpha: weight of the cross-entropy.
        beta: weight of the reverse cross-entropy.
        clip: lower bound of log(target), as the logarithm of 0 is infinite. FINE's authors use −4; the reference
            implementation of the loss has log(1e-4) ≈ −9.21.

    >>> import torch
    >>> SCE(alpha=0.0, beta=1.0)(torch.tensor([[0.0, 0.0]]), torch.tensor([1]), torch.tensor([0]))
    tensor([2.])
    """

    options: ClassVar[Sequence[str]] = ("alpha", "beta", "clip")

    def __init__(self, alpha: float = 0.1, beta: float = 1.0, clip: float = -4.0) -> None:
        super().__init__()
        if alpha < 0 or beta < 0:
            raise InvalidOption(f"loss sce: alpha and beta must be at least 0, got {alpha} and {beta}")
        if not clip < 0:
            raise InvalidOption(f"loss sce: clip is a logarithm and must be below 0, got {clip}")
        self.alpha, self.beta, self.clip = alpha, beta, clip

    def extra_repr(self) -> str:
        """The options, for printing."""
        return f"alpha={self.alpha}, beta={self.beta}, clip={self.clip}"

    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample."""
        log_p = log_probabilities(logits)
        log_target = probabilities(log_p, target).clamp(math.exp(self.clip), 1).log()
        reverse = -(log_p.exp().clamp(_TINY, 1) * log_target).sum(dim=1)
        return -self.alpha * expected(log_p, target) + self.beta * reverse
