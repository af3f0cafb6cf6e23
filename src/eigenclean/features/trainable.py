"""Any image encoder of this package as a network with a new head, to be fine-tuned.

It is listed in `eigenclean.nets.NETS` as "encoder", and lives here because networks do not know encoders.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.features.choose import make_encoder, parse
from eigenclean.features.encoders.preprocess import Preprocess
from eigenclean.features.encoders.torch_module import TorchEncoder
from eigenclean.features.registry import DEFAULT_IMAGE_NET, ENCODERS
from eigenclean.nets.base import Net
from eigenclean.nets.shapes import Shape, image_shape

_MAX_SIDE = 96  # by default: the time of an epoch grows with the square of the side
_BY = "net encoder"
# Depthwise convolutions, of which mobile networks consist, are about twice as fast with the channels last.
LAYOUT = torch.channels_last


class EncoderNet(Net):
    """A pretrained encoder and a linear head; all of it can be trained.

    Inputs are images with pixels from 0 to 1, of one channel or three. They are scaled and standardised inside, as
    the encoder wants them. With ``first_block``, inputs are the maps that `encoder_maps` makes of images: the first
    blocks stay as they are and run once, not in every epoch, so that an epoch takes a fraction of the time.

    Args:
        n_features: channels, height and width of an image, or of maps.
        n_classes: number of logits.
        encoder: description of an encoder of images that is a torch module, as in `make_encoder`.
        size: side of the squares that images are scaled to; by default that of the encoder, but at most 96 pixels.
        pretrained: begin with the encoder's weights; False for a network whose weights are loaded later.
        keep_statistics: whether batch normalisation keeps the statistics of the pretraining. With few images new
            ones change too slowly for the network to predict as it was trained; with new ones it learns faster,
            wrong labels too.
        first_block: the block of the encoder that takes the inputs; 0 takes images. EfficientNet-lite only.
    """

    options: ClassVar[Sequence[str]] = ("encoder", "size", "pretrained", "keep_statistics", "first_block")
    takes_images: ClassVar[bool] = True
    standardises: ClassVar[bool] = True
    _mean: Tensor
    _std: Tensor

    def __init__(
        self,
        n_features: Shape,
        n_classes: int,
        encoder: str = DEFAULT_IMAGE_NET,
        size: int | None = None,
        pretrained: bool = True,
        keep_statistics: bool = True,
        first_block: int = 0,
    ) -> None:
        super().__init__(n_features, n_classes)
        if type(keep_statistics) is not bool:
            raise InvalidOption(f"{_BY}: keep_statistics must be true or false, got {keep_statistics!r}")
        self.keep_statistics = keep_statistics
        shape = image_shape(n_features, by=_BY)
        if size is not None and (type(size) is not int or not 8 <= size <= 1024):
            raise InvalidOption(f"{_BY}: size must be a number of pixels from 8 to 1024, got {size!r}")
        backbone, preprocess = _backbone(encoder, pretrained, first_block)
        self.backbone = with_layout(backbone)
        self.takes_maps = first_block != 0
        if self.takes_maps:
            _check_maps(shape[0], backbone, size)
        elif shape[0] not in (1, 3):
            raise InvalidData(f"{_BY}: an encoder takes images of 1 or 3 channels, got {shape[0]}")
        self.size = size or _own_size(encoder) or min(preprocess.size, _MAX_SIDE)
        self.register_buffer("_mean", torch.tensor(preprocess.mean).reshape(1, 3, 1, 1))
        self.register_buffer("_std", torch.tensor(preprocess.std).reshape(1, 3, 1, 1))
        self.n_outputs = self._count_features(encoder, shape)
        self.head = nn.Linear(self.n_outputs, n_classes)

    def train(self, mode: bool = True) -> Self:
        """Training mode, but for batch normalisation that keeps its statistics."""
        super().train(mode)
        if self.keep_statistics:
            for module in self.backbone.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()
        return self

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Features of the encoder, and logits."""
        features = _pooled(self.backbone(self._prepared(inputs)))
        return features, self.head(features)

    def _prepared(self, inputs: Tensor) -> Tensor:
        prepared = inputs if self.takes_maps else prepare_images(inputs, self.size, self._mean, self._std)
        return prepared.contiguous(memory_format=LAYOUT)

    def _count_features(self, encoder: str, shape: Sequence[int]) -> int:
        """From the output for one input."""
        was_training = self.backbone.training
        self.backbone.eval()
        with torch.no_grad():
            out = _pooled(self.backbone(self._prepared(torch.zeros(1, *shape))))
        self.backbone.train(was_training)
        if not isinstance(out, Tensor) or out.ndim != 2:
            raise InvalidOption(f"{_BY}: the encoder {encoder} returns no features that could be trained")
        return int(out.shape[1])


def prepare_images(images: Tensor, size: int, mean: Tensor, std: Tensor) -> Tensor:
    """Images of one channel or three with pixels from 0 to 1, as an encoder wants them."""
    if images.shape[-2:] != (size, size):
        shrinks = max(images.shape[-2:]) > size  # otherwise there is nothing to smooth
        images = functional.interpolate(
            images, (size, size), mode="bilinear", align_corners=False, antialias=shrinks
        )
    return (images.expand(-1, 3, -1, -1) - mean) / std


def is_lite(text: str) -> bool:
    """Whether a description of an encoder means a bundled EfficientNet-lite, whose blocks can be told apart."""
    name, argument, _ = parse(text)
    return name in ENCODERS and ENCODERS[name].class_name == "EfficientNetLite" and argument is None


def _check_maps(channels: int, backbone: nn.Module, size: int | None) -> None:
    from eigenclean.features.encoders.efficientnet_lite import map_channels

    if size is not None:
        raise InvalidOption(f"{_BY}: with first_block, size belongs to encoder_maps, which scales the images")
    expected = map_channels(backbone)
    if channels != expected:
        raise InvalidData(
            f"{_BY}: this first_block takes maps of {expected} channels, got {channels}; make them with "
            "eigenclean.features.encoder_maps"
        )


def _backbone(text: str, pretrained: bool, first_block: int) -> tuple[nn.Module, Preprocess]:
    """The encoder without its weights fixed, and what it expects of images."""
    if is_lite(text):
        from eigenclean.features.encoders import efficientnet_lite as lite

        backbone = lite.trainable_lite(parse(text)[0], pretrained=pretrained, first_block=first_block)
        return backbone, Preprocess(lite.SIZE, lite.MEAN, lite.STD)
    if first_block != 0:
        raise InvalidOption(f"{_BY}: first_block is for EfficientNet-lite only, got the encoder {text}")
    described = make_encoder(text, device="cpu")
    if not isinstance(described, TorchEncoder):
        raise InvalidOption(
            f"{_BY}: the encoder {text} cannot be fine-tuned: it must be a torch module that takes images, such as "
            f"{DEFAULT_IMAGE_NET}, timm:MODEL, transformers-image:MODEL or torch:FILE.py:FUNCTION"
        )
    return described.trainable(), described.preprocess


def with_layout(module: nn.Module) -> nn.Module:
    """The module with its weights in the fastest memory format."""
    laid_out: Any = module
    laid_out.to(memory_format=LAYOUT)  # torch has no signature for this argument alone
    return module


def _own_size(text: str) -> int | None:
    size = parse(text)[2].get("size")
    return size if type(size) is int else None


def _pooled(out: Any) -> Any:
    """The features among the outputs of an encoder: maps and sequences are averaged."""
    if isinstance(out, dict):
        out = next(iter(out.values()), None)
    if isinstance(out, tuple | list) and out:
        out = out[0]
    if not isinstance(out, Tensor):
        return out
    return out.mean(dim=(2, 3)) if out.ndim == 4 else out.mean(dim=1) if out.ndim == 3 else out
