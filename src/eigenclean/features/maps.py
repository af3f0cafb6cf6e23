"""Maps that the first blocks of an encoder make of images: inputs of a network that trains the other blocks."""

from typing import Any

import numpy as np

from eigenclean.arrays import Array, row_chunks
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.extras import require
from eigenclean.features.registry import DEFAULT_IMAGE_NET

_BY = "encoder_maps"
_CHUNK_ROWS = 256


def encoder_maps(images: Any, *, first_block: int, size: int, encoder: str = DEFAULT_IMAGE_NET) -> Array:
    """The inputs of the net "encoder" with that ``first_block``: n x channels x height x width, float32.

    The blocks before it are not trained, so that it is enough to run them once. Batch normalisation has the
    statistics of the pretraining there.

    Args:
        images: bytes, n x height x width x 3.
        first_block: the first block that will be trained.
        size: side of the squares that images are scaled to. From block 16 on, 64 pixels make maps of 2 and 160
            pixels maps of 5.
        encoder: a bundled EfficientNet-lite.
    """
    pixels: Array = np.asarray(images)
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[3] != 3:
        raise InvalidData(
            f"{_BY}: images must be bytes, n x height x width x 3, got shape {pixels.shape} of type {pixels.dtype}"
        )
    torch: Any = require("torch", extra="embed", caller=_BY)
    from eigenclean.features.encoders import efficientnet_lite as lite
    from eigenclean.features.trainable import LAYOUT, is_lite, prepare_images, with_layout

    if not is_lite(encoder):
        raise InvalidOption(f"{_BY}: the encoder must be an EfficientNet-lite, got {encoder}")
    blocks = with_layout(lite.first_blocks(encoder, first_block))
    mean, std = (torch.tensor(values).reshape(1, 3, 1, 1) for values in (lite.MEAN, lite.STD))
    maps = []
    with torch.inference_mode():
        for chunk in row_chunks(len(pixels), 1, _CHUNK_ROWS):
            scaled = torch.from_numpy(np.ascontiguousarray(pixels[chunk])).permute(0, 3, 1, 2).float() / 255
            prepared = prepare_images(scaled, size, mean, std).contiguous(memory_format=LAYOUT)
            maps.append(blocks(prepared).contiguous().numpy())
    return np.concatenate(maps)
