"""A multi-layer perceptron: for feature vectors and small machines."""

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from torch import Tensor, nn

from eigenclean.errors import InvalidOption
from eigenclean.nets.base import Net
from eigenclean.nets.shapes import Shape, n_values


class MLP(Net):
    """Hidden layers with ReLU, then a linear head; the last hidden layer is the feature, which is non-negative.

    Args:
        n_features: columns of the input, or the shape of an image, which is flattened.
        n_classes: number of logits.
        hidden: width of each hidden layer.
        dropout: probability that a hidden value is dropped in training.

    >>> import torch
    >>> features, logits = MLP(4, 3, hidden=(8, 5))(torch.ones(2, 4))
    >>> features.shape, logits.shape
    (torch.Size([2, 5]), torch.Size([2, 3]))
    """

    options: ClassVar[Sequence[str]] = ("hidden", "dropout")

    def __init__(
        self, n_features: Shape, n_classes: int, hidden: Sequence[int] = (256, 128), dropout: float = 0.0
    ) -> None:
        super().__init__(n_features, n_classes)
        widths = [n_values(n_features), *hidden]
        if len(widths) < 2 or min(widths) < 1:
            raise InvalidOption(f"net mlp: hidden must be one or more widths of at least 1, got {list(hidden)}")
        if not 0 <= dropout < 1:
            raise InvalidOption(f"net mlp: dropout must be from 0 to below 1, got {dropout}")
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.ReLU(), nn.Dropout(dropout)]
        self.n_outputs = widths[-1]
        self.body = nn.Sequential(*layers[:-1])  # without the last dropout: detectors get features without dropout
        self.head = nn.Sequential(layers[-1], nn.Linear(self.n_outputs, n_classes))

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The last hidden layer, and the logits."""
        features = self.body(inputs.flatten(1))
        return features, self.head(features)
