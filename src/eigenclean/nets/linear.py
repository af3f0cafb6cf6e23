"""A linear head: the inputs themselves are the features."""

from torch import Tensor, nn

from eigenclean.nets.base import Net
from eigenclean.nets.shapes import Shape, n_values


class Linear(Net):
    """Logistic regression, for features of another network.

    >>> import torch
    >>> features, logits = Linear(4, 3)(torch.ones(2, 4))
    >>> features.shape, logits.shape
    (torch.Size([2, 4]), torch.Size([2, 3]))
    """

    def __init__(self, n_features: Shape, n_classes: int) -> None:
        super().__init__(n_features, n_classes)
        self.n_outputs = n_values(n_features)
        self.head = nn.Linear(self.n_outputs, n_classes)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs as they are, and their logits."""
        features = inputs.flatten(1)
        return features, self.head(features)
