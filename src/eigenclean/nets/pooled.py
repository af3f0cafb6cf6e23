"""Convolutional networks whose feature is the mean of the last map over its pixels."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from eigenclean.errors import InvalidOption
from eigenclean.nets.base import Net
from eigenclean.nets.shapes import Shape


class PooledNet(Net):
    """A body that makes maps, their means over the pixels as features, and a head; images of any size.

    Weights and images lie with their channels last in memory, which makes convolutions up to twice as fast and
    changes nothing else.
    """

    takes_images: ClassVar[bool] = True

    def __init__(
        self, n_features: Shape, n_classes: int, *, body: nn.Module, n_outputs: int, dropout: float = 0.0
    ) -> None:
        super().__init__(n_features, n_classes)
        logits = nn.Linear(n_outputs, n_classes)
        self.body = body
        self.n_outputs = n_outputs
        self.head = nn.Sequential(nn.Dropout(dropout), logits) if dropout else logits
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                # Copied, because `contiguous` leaves 1 x 1 kernels with other strides than their gradients have,
                # which slows down training on several processes.
                last = torch.empty_like(module.weight.data, memory_format=torch.channels_last)
                module.weight.data = last.copy_(module.weight.data)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """The pooled last map, and the logits."""
        maps = self.body(inputs.contiguous(memory_format=torch.channels_last))
        features = maps.mean(dim=(2, 3))
        return features, self.head(features)


def conv3x3(before: int, after: int, stride: int = 1) -> nn.Conv2d:
    """The convolution that everything here is made of; a normalisation after it has the bias."""
    return nn.Conv2d(before, after, 3, stride, padding=1, bias=False)


def conv_norm_relu(before: int, after: int) -> list[nn.Module]:
    """A convolution as networks begin with it."""
    return [conv3x3(before, after), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]


def check_width(width: int, *, by: str) -> int:
    """``width`` when it is a number of channels; `InvalidOption` otherwise."""
    if not isinstance(width, int) or width < 1:
        raise InvalidOption(f"{by}: width must be an integer of at least 1, got {width!r}")
    return width
