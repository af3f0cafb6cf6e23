"""Cross-entropy, the loss everyone starts from."""

from torch import Tensor
from torch.nn import functional

from eigenclean.losses.base import Loss


class CrossEntropy(Loss):
    """−Σ target · log softmax(logits), for class numbers and for soft targets.

    >>> import torch
    >>> CrossEntropy()(torch.zeros(1, 4), torch.tensor([2]), torch.tensor([0]))
    tensor([1.3863])
    """

    def forward(self, logits: Tensor, target: Tensor, index: Tensor) -> Tensor:
        """Loss of each sample."""
        return functional.cross_entropy(logits, target, reduction="none")
