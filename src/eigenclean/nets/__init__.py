"""Networks that return (features, logits). A new one is one file and one line in `NETS`."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from eigenclean.names import check_name

if TYPE_CHECKING:
    from eigenclean.nets.base import Net

__all__ = ["NETS", "make_net", "standardises", "takes_images"]

# Where each network lives. Names are known without torch; the network itself is imported when it is built.
NETS: dict[str, tuple[str, str]] = {
    "linear": ("eigenclean.nets.linear", "Linear"),
    "mlp": ("eigenclean.nets.mlp", "MLP"),
    "small-cnn": ("eigenclean.nets.convolutional", "SmallCNN"),
    "resnet34": ("eigenclean.nets.convolutional", "ResNet34"),
    "preact-resnet18": ("eigenclean.nets.convolutional", "PreActResNet18"),
    "resnet50": ("eigenclean.nets.from_timm", "ResNet50"),
    "inception-resnet-v2": ("eigenclean.nets.from_timm", "InceptionResNetV2"),
    "timm": ("eigenclean.nets.from_timm", "TimmNet"),
    "encoder": ("eigenclean.features.trainable", "EncoderNet"),
}


def make_net(name: str, n_features: int | Sequence[int], n_classes: int, **options: Any) -> "Net":
    """A freshly initialised network of that name.

    Args:
        name: a name from `NETS`.
        n_features: shape of one input: a number of features, or channels, height and width of an image.
        n_classes: number of logits.
        options: of that network.

    >>> make_net("mlp", 8, 3, hidden=[16]).n_outputs
    16
    >>> make_net("small-cnn", (1, 28, 28), 10).n_outputs
    128
    >>> make_net("mpl", 8, 3)
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: net: name must be one of ..., got 'mpl'; did you mean 'mlp'?
    """
    check_name(name, NETS, by="net", what="name")
    module, class_name = NETS[name]
    net_class: type[Net] = getattr(import_module(module), class_name)
    for option in options:
        check_name(option, net_class.options, by=f"net {name}", what="option")
    return to_channels_last(net_class(n_features, n_classes, **options))


def takes_images(name: str) -> bool:
    """Whether the network of that name needs images and cannot be given feature vectors."""
    module, class_name = NETS[name]
    return bool(getattr(import_module(module), class_name).takes_images)


def standardises(name: str) -> bool:
    """Whether the network of that name wants pixels from 0 to 1, because it standardises images itself."""
    module, class_name = NETS[name]
    return bool(getattr(import_module(module), class_name).standardises)


def to_channels_last(net: "Net") -> "Net":
    """The same network with convolution weights in channels-last memory format, which is faster."""
    import torch

    for weight in net.parameters():
        if weight.dim() == 4:  # only convolutions have such weights
            weight.data = weight.data.contiguous(memory_format=torch.channels_last)
    return net
