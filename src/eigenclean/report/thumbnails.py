"""Thumbnails of single samples as data URIs."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.sources.images.display import brightness, channels_last, encoded, stretched

SIDE = 192  # pixels: sharp at 96 points on a phone's screen


def thumbnails(images: Sequence[Any] | Array, rows: Ints) -> list[dict[str, Any]]:
    """For each row a ``src`` and whether it has so few pixels that they should stay visible.

    Bytes are taken as they are, anything else is stretched from its darkest to its brightest value.

    >>> small = thumbnails(np.zeros((1, 8, 8), dtype=np.uint8), np.array([0]))[0]
    >>> small["src"][:22], small["coarse"]
    ('data:image/png;base64,', True)
    """
    pictures = [channels_last(np.asarray(images[row]), by="report") for row in rows.tolist()]
    between = brightness(pictures)
    return [_thumbnail(stretched(image, between)) for image in pictures]


def _thumbnail(image: Array) -> dict[str, Any]:
    content, media_type = encoded(image, SIDE)
    source = f"data:{media_type};base64,{base64.b64encode(content).decode()}"
    return {"src": source, "coarse": max(image.shape[:2]) < SIDE // 2}
