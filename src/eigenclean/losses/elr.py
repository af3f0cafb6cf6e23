"""Early-learning regularisation towards earlier predictions of the network (Liu et al., 2020)."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Loss, expected, log_probabilities

_TINY = 1e-4


class ELR(Loss):
    """Cross-entropy + λ · log(1 − ⟨t, p⟩), where t is a running mean of the sample's earlier predictions.

    Agreement with t lowers the loss: a sample that the network has long predicted to be of another class than its
    label is pulled back towards that prediction.

    Args:
        beta: how slowly t changes, from 0 to below 1.
        lambda_: weight of the second term.

    >>> loss = ELR(beta=0.5)
    >>> loss.prepare(n_samples=3, n_classes=2)
    >>> _ = loss(torch.tensor([[0.0, 0.0]]), torch.tensor([1]), torch.tensor([2]))
    >>> loss.memory
    tensor([[0.0000, 0.0000], [0.0000, 0.0000], [0.2500, 0.2500]])
    """

    options: ClassVar[Sequence[str]] = ("beta", "lambda_")
    memory: Tensor

    def __init__(self, beta: float = 0.7, lambda_: float = 3.0) -> None:
        super().__init__()
        if not 0 <= beta < 1:
            raise InvalidOption(f"loss elr: beta must be from 0 to below 1, got {beta}")
        if lambda_ < 0:
            raise InvalidOption(f"loss elr: lambda_ must be at least 0, got {lambda_}")
        self.beta, self.lambda_ = beta, lambda_

    def extra_repr(self) -> str:
        """The options, for printing."""
        return f"beta={self.beta}, lambda_={self.lambda_}"

    def prepare(self, n_samples: int, n_classes: int) -> None:
        """Register the running mean of the predictions, 0 at first."""
        self.register_buffer("memory", torch.zeros(n_samples, n_classes))

    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample; the running mean is updated before it is used."""
        log_p = log_probabilities(logits)
        p = log_p.exp().clamp(_TINY, 1 - _TINY)
        average = self.memory[index]
        if self.training:
            now = p.detach()
            average = self.beta * average + (1 - self.beta) * (now / now.sum(dim=1, keepdim=True))
            self.memory[index] = average.to(self.memory.dtype)
        agreement = (average * p).sum(dim=1)  # below 1, because p is clamped and the averages sum to at most 1
        return -expected(log_p, target) + self.lambda_ * torch.log1p(-agreement)
