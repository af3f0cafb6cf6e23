"""ResNet-34 for small images, as in the CIFAR experiments (He et al., 2016)."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from eigenclean.nets.pooled import PooledNet, check_width, conv3x3, conv_norm_relu
from eigenclean.nets.shapes import Shape, image_shape

_BY = "net resnet34"


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
        channels, _, _ = image_shape(n_features, by=_BY)
        layers = conv_norm_relu(channels, check_width(width, by=_BY))
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
