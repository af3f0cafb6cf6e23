"""PreAct ResNet-18 as in DivideMix, which differs from He et al. (2016)."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor, nn
from torch.nn import functional

from eigenclean.nets.pooled import PooledNet, check_width, conv3x3, conv_norm_relu
from eigenclean.nets.shapes import Shape, image_shape

_BY = "net preact-resnet18"


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
        channels, _, _ = image_shape(n_features, by=_BY)
        layers = conv_norm_relu(channels, check_width(width, by=_BY))
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
