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
_LAYOUT = torch.channels_last


class EncoderNet(Net):
    """A pretrained encoder and a linear head; all of it can be trained.

    Inputs are images with pixels from 0 to 1, of one channel or three. They are scaled and standardised inside, as
    the encoder wants them.

    Args:
        n_features: channels, height and width of an image.
        n_classes: number of logits.
        encoder: description of an encoder of images that is a torch module, as in `make_encoder`.
        size: side of the squares that images are scaled to; by default that of the encoder, but at most 96 pixels.
        pretrained: begin with the encoder's weights; False for a network whose weights are loaded later.
        keep_statistics: whether batch normalisation keeps the statistics of the pretraining. With few images new
            ones change too slowly for the network to predict as it was trained; with new ones it learns faster,
            wrong labels too.
    """

    options: ClassVar[Sequence[str]] = ("encoder", "size", "pretrained", "keep_statistics")
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
    ) -> None:
        super().__init__(n_features, n_classes)
        if type(keep_statistics) is not bool:
            raise InvalidOption(f"{_BY}: keep_statistics must be true or false, got {keep_statistics!r}")
        self.keep_statistics = keep_statistics
        channels, _, _ = image_shape(n_features, by=_BY)
        if channels not in (1, 3):
            raise InvalidData(f"{_BY}: an encoder takes images of 1 or 3 channels, got {channels}")
        if size is not None and (type(size) is not int or not 8 <= size <= 1024):
            raise InvalidOption(f"{_BY}: size must be a number of pixels from 8 to 1024, got {size!r}")
        backbone, preprocess = _backbone(encoder, pretrained)
        self.backbone = _with_layout(backbone)
        self.size = size or _own_size(encoder) or min(preprocess.size, _MAX_SIDE)
        self.register_buffer("_mean", torch.tensor(preprocess.mean).reshape(1, 3, 1, 1))
        self.register_buffer("_std", torch.tensor(preprocess.std).reshape(1, 3, 1, 1))
        self.n_outputs = self._count_features(encoder)
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

    def _prepared(self, images: Tensor) -> Tensor:
        if images.shape[-2:] != (self.size, self.size):
            shrinks = max(images.shape[-2:]) > self.size  # otherwise there is nothing to smooth
            images = functional.interpolate(
                images, (self.size, self.size), mode="bilinear", align_corners=False, antialias=shrinks
            )
        prepared = (images.expand(-1, 3, -1, -1) - self._mean) / self._std
        return prepared.contiguous(memory_format=_LAYOUT)

    def _count_features(self, encoder: str) -> int:
        """From the output for one image."""
        was_training = self.backbone.training
        self.backbone.eval()
        with torch.no_grad():
            out = _pooled(self.backbone(self._prepared(torch.zeros(1, 3, self.size, self.size))))
        self.backbone.train(was_training)
        if not isinstance(out, Tensor) or out.ndim != 2:
            raise InvalidOption(f"{_BY}: the encoder {encoder} returns no features that could be trained")
        return int(out.shape[1])


def _backbone(text: str, pretrained: bool) -> tuple[nn.Module, Preprocess]:
    """The encoder without its weights fixed, and what it expects of images."""
    name, argument, _ = parse(text)
    if name in ENCODERS and ENCODERS[name].class_name == "EfficientNetLite" and argument is None:
        from eigenclean.features.encoders import efficientnet_lite as lite

        return lite.trainable_lite(name, pretrained=pretrained), Preprocess(lite.SIZE, lite.MEAN, lite.STD)
    described = make_encoder(text, device="cpu")
    if not isinstance(described, TorchEncoder):
        raise InvalidOption(
            f"{_BY}: the encoder {text} cannot be fine-tuned: it must be a torch module that takes images, such as "
            f"{DEFAULT_IMAGE_NET}, timm:MODEL, transformers-image:MODEL or torch:FILE.py:FUNCTION"
        )
    return described.trainable(), described.preprocess


def _with_layout(module: nn.Module) -> nn.Module:
    laid_out: Any = module
    laid_out.to(memory_format=_LAYOUT)  # torch has no signature for this argument alone
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
