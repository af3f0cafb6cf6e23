"""Cross-entropy with a penalty on confident predictions (Pereyra et al., 2017); DivideMix warms up with it."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from eigenclean.errors import InvalidOption
from eigenclean.losses.base import Loss, expected, log_probabilities


class ConfidencePenalty(Loss):
    """Cross-entropy + weight · Σ p log p: the negative entropy penalises confident predictions.

    >>> import torch
    >>> ConfidencePenalty()(torch.tensor([[0.0, 0.0]]), torch.tensor([1]), torch.tensor([0]))
    tensor([0.])
    """

    options: ClassVar[Sequence[str]] = ("weight",)

    def __init__(self, weight: float = 1.0) -> None:
        super().__init__()
        if weight < 0:
            raise InvalidOption(f"loss confidence-penalty: weight must be at least 0, got {weight}")
        self.weight = weight

    def extra_repr(self) -> str:
        """The options, for printing."""
        return f"weight={self.weight}"

    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample."""
        log_p = log_probabilities(logits)
        return self.weight * (log_p.exp() * log_p).sum(dim=1) - expected(log_p, target)
