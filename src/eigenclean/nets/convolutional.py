"""Convolutional networks with global average pooling: the feature is the mean of the last feature map."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from eigenclean.errors import InvalidOption
from eigenclean.nets.base import Net
from eigenclean.nets.shapes import Shape, image_shape


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


_SMALL_CNN = "net small-cnn"


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
        channels, _, _ = image_shape(n_features, by=_SMALL_CNN, smallest=4)
        if not 0 <= dropout < 1:
            raise InvalidOption(f"{_SMALL_CNN}: dropout must be from 0 to below 1, got {dropout}")
        # Maps are pooled before they are normalised: a quarter of the work, which saves a third of the whole pass.
        layers = [
            *_conv_pool_norm_relu(channels, check_width(width, by=_SMALL_CNN)),
            *_conv_pool_norm_relu(width, 2 * width),
            *conv_norm_relu(2 * width, 4 * width),
        ]
        super().__init__(n_features, n_classes, body=nn.Sequential(*layers), n_outputs=4 * width, dropout=dropout)


def _conv_pool_norm_relu(n_in: int, n_out: int) -> list[nn.Module]:
    conv, norm, relu = conv_norm_relu(n_in, n_out)
    return [conv, nn.MaxPool2d(2), norm, relu]


_RESNET = "net resnet34"


class ResNet34(PooledNet):
    """A 3 x 3 stem without pooling, then 3, 4, 6, 3 basic blocks; the pooled last map is the feature, non-negative.

    Args:
        n_features: channels, height and width of an image.
        n_classes: number of logits.
        width: channels of the first stage; the last has eight times as many. 64 is the published one.

    >>> import torch
    >>> features, logits = ResNet34((3, 32, 32), 10, width=4)(torch.zeros(2, 3, 32, 32))
    >>> features.shape, logits.shape
    (torch.Size([2, 32]), torch.Size([2, 10]))
    """

    options: ClassVar[Sequence[str]] = ("width",)

    def __init__(self, n_features: Shape, n_classes: int, width: int = 64) -> None:
        channels, _, _ = image_shape(n_features, by=_RESNET)
        layers = conv_norm_relu(channels, check_width(width, by=_RESNET))
        n_in = width
        for stage, count in enumerate((3, 4, 6, 3)):
            n_out = width << stage
            for number in range(count):
                layers.append(_BasicBlock(n_in, n_out, stride=2 if stage and number == 0 else 1))
                n_in = n_out
        super().__init__(n_features, n_classes, body=nn.Sequential(*layers), n_outputs=n_in)


class _BasicBlock(nn.Module):
    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = conv3x3(n_in, n_out, stride), nn.BatchNorm2d(n_out)
        self.conv2, self.norm2 = conv3x3(n_out, n_out), nn.BatchNorm2d(n_out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or n_in != n_out:
            self.shortcut = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x: Tensor) -> Tensor:
        inner = functional.relu(self.norm1(self.conv1(x)), inplace=True)
        return functional.relu(self.norm2(self.conv2(inner)) + self.shortcut(x), inplace=True)


_PREACT_RESNET = "net preact-resnet18"


class PreActResNet18(PooledNet):
    """A 3 x 3 stem, then 2, 2, 2, 2 pre-activation blocks; the pooled last map is the feature, of either sign.

    Three things differ from the original: the stem has a normalisation and ReLU of its own, the shortcut of a block
    starts from the *activated* tensor, and the last feature map is not normalised.

    Args:
        n_features: channels, height and width of an image.
        n_classes: number of logits.
        width: channels of the first stage; the last has eight times as many. 64 is the published one.

    >>> import torch
    >>> features, logits = PreActResNet18((3, 32, 32), 10, width=4)(torch.zeros(2, 3, 32, 32))
    >>> features.shape, logits.shape
    (torch.Size([2, 32]), torch.Size([2, 10]))
    """

    options: ClassVar[Sequence[str]] = ("width",)

    def __init__(self, n_features: Shape, n_classes: int, width: int = 64) -> None:
        channels, _, _ = image_shape(n_features, by=_PREACT_RESNET)
        layers = conv_norm_relu(channels, check_width(width, by=_PREACT_RESNET))
        n_in = width
        for stage in range(4):
            n_out = width << stage
            layers += [_PreActBlock(n_in, n_out, stride=2 if stage else 1), _PreActBlock(n_out, n_out, stride=1)]
            n_in = n_out
        super().__init__(n_features, n_classes, body=nn.Sequential(*layers), n_outputs=n_in)


class _PreActBlock(nn.Module):
    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(n_in), conv3x3(n_in, n_out, stride)
        self.norm2, self.conv2 = nn.BatchNorm2d(n_out), conv3x3(n_out, n_out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or n_in != n_out:
            self.shortcut = nn.Conv2d(n_in, n_out, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        active = functional.relu(self.norm1(x), inplace=True)
        inner = functional.relu(self.norm2(self.conv1(active)), inplace=True)
        out: Tensor = self.conv2(inner) + self.shortcut(active)
        return out
