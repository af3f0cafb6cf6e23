"""Cross-entropy, the baseline of all losses."""

from torch import Tensor
from torch.nn import functional

from eigenclean.losses.base import Loss, expected, is_soft, log_probabilities


class CrossEntropy(Loss):
    """−Σ target · log softmax(logits), for class numbers and for soft targets.

    >>> import torch
    >>> CrossEntropy()(torch.zeros(1, 4), torch.tensor([2]), torch.tensor([0]))
    tensor([1.3863])
    """

    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample."""
        if is_soft(logits, target):
            return -expected(log_probabilities(logits), target)
        # One fused kernel for the most common case.
        return functional.cross_entropy(logits, target, reduction="none")
