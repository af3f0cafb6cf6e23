"""PreAct ResNet-18 as DivideMix has it, which is not quite the one of He et al. (2016)."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from eigenclean.nets.pooled import PooledNet, check_width, conv3x3, conv_norm_relu
from eigenclean.nets.shapes import Shape, image_shape

_BY = "net preact-resnet18"


class PreActResNet18(PooledNet):
    """A 3 x 3 stem, then 2, 2, 2, 2 pre-activation blocks; the pooled last map is the feature, of either sign.

    Three things differ from the original: the stem has its own normalisation and ReLU, the identity of a block is
    the *activated* tensor, and nothing normalises the last map.

    Args:
        n_features: channels, height and width of an image.
        n_classes: number of logits.
        width: channels of the first stage; the last has eight times as many. 64 is the real one.

    >>> import torch
    >>> features, logits = PreActResNet18((3, 32, 32), 10, width=4)(torch.zeros(2, 3, 32, 32))
    >>> features.shape, logits.shape
    (torch.Size([2, 32]), torch.Size([2, 10]))
    """

    options: ClassVar[Sequence[str]] = ("width",)

    def __init__(self, n_features: Shape, n_classes: int, width: int = 64) -> None:
        channels, _, _ = image_shape(n_features, by=_BY)
        layers = conv_norm_relu(channels, check_width(width, by=_BY))
        before = width
        for stage in range(4):
            after = width << stage
            layers += [_PreActBlock(before, after, stride=2 if stage else 1), _PreActBlock(after, after, stride=1)]
            before = after
        super().__init__(n_features, n_classes, body=nn.Sequential(*layers), n_outputs=before)


class _PreActBlock(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(before), conv3x3(before, after, stride)
        self.norm2, self.conv2 = nn.BatchNorm2d(after), conv3x3(after, after)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        active = functional.relu(self.norm1(x), inplace=True)
        inner = functional.relu(self.norm2(self.conv1(active)), inplace=True)
        out: Tensor = self.conv2(inner) + self.shortcut(active)
        return out
