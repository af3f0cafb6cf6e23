"""Convolutional networks with global average pooling: the feature is the mean of the last feature map."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from eigenclean.errors import InvalidOption
from eigenclean.nets.base import Net
from eigenclean.nets.shapes import Shape


class PooledNet(Net):
    """Convolutional body, global average pooling, linear head; images may have any size.

    Weights and images are in channels-last memory format, which makes convolutions up to twice as fast and does not
    change the result.
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
        """The pooled last feature map, and the logits."""
        feature_map = self.body(inputs.contiguous(memory_format=torch.channels_last))
        features = feature_map.mean(dim=(2, 3))
        return features, self.head(features)


def conv3x3(n_in: int, n_out: int, stride: int = 1) -> nn.Conv2d:
    """A 3 x 3 convolution without bias, for use before a normalisation, which has one."""
    return nn.Conv2d(n_in, n_out, 3, stride, padding=1, bias=False)


def conv_norm_relu(n_in: int, n_out: int) -> list[nn.Module]:
    """The stem of the networks: convolution, normalisation, ReLU."""
    return [conv3x3(n_in, n_out), nn.BatchNorm2d(n_out), nn.ReLU(inplace=True)]


def check_width(width: int, *, by: str) -> int:
    """``width`` when it is a number of channels; `InvalidOption` otherwise."""
    if not isinstance(width, int) or width < 1:
        raise InvalidOption(f"{by}: width must be an integer of at least 1, got {width!r}")
    return width
