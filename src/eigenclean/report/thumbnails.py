"""Small pictures of single samples as data URIs."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidData

SIDE = 192  # pixels: sharp at 96 points on a phone's screen
_DARK = 64  # bytes that never reach this are not bytes of brightness (digits: 0 to 16)


def thumbnails(images: Sequence[Any] | Array, rows: Ints) -> list[dict[str, Any]]:
    """For each row a ``src`` and whether it has so few pixels that they should stay visible.

    Bytes are taken as they are, anything else is stretched from its darkest to its brightest value.

    >>> small = thumbnails(np.zeros((1, 8, 8), dtype=np.uint8), np.array([0]))[0]
    >>> small["src"][:22], small["coarse"]
    ('data:image/png;base64,', True)
    """
    pictures = [_channels_last(np.asarray(images[row])) for row in rows.tolist()]
    if not pictures:
        return []
    if any(picture.dtype != np.uint8 for picture in pictures) or max(p.max(initial=0) for p in pictures) < _DARK:
        pictures = _stretched(pictures)
    return [_encoded(picture) for picture in pictures]


def _channels_last(picture: Array) -> Array:
    if picture.ndim == 3 and picture.shape[2] not in (1, 3, 4) and picture.shape[0] in (1, 3, 4):
        picture = np.moveaxis(picture, 0, 2)
    if picture.ndim == 3 and picture.shape[2] == 1:
        picture = picture[:, :, 0]
    if picture.ndim not in (2, 3) or picture.size == 0 or (picture.ndim == 3 and picture.shape[2] not in (3, 4)):
        raise InvalidData(
            f"report: images must be height x width, with 1, 3 or 4 channels if any, got shape {picture.shape}"
        )
    if picture.dtype.kind not in "uifb":
        raise InvalidData(f"report: images must be numbers, got type {picture.dtype}")
    return picture


def _stretched(pictures: list[Array]) -> list[Array]:
    floats = [np.nan_to_num(picture.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0) for picture in pictures]
    low, high = min(float(p.min()) for p in floats), max(float(p.max()) for p in floats)
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    return [(255 * (p - low) / ((high - low) or 1)).astype(np.uint8) for p in floats]


def _encoded(picture: Array) -> dict[str, Any]:
    image = Image.fromarray(np.ascontiguousarray(picture))
    coarse = max(image.size) < SIDE // 2
    shrunk = max(image.size) > SIDE
    buffer = io.BytesIO()
    if shrunk:
        image.thumbnail((SIDE, SIDE))
    # A shrunk photograph has lost its exact pixels already: JPEG takes a fifth of the room.
    if shrunk and image.mode in ("L", "RGB"):
        image.save(buffer, "JPEG", quality=82)
        kind = "jpeg"
    else:
        image.save(buffer, "PNG", optimize=True)
        kind = "png"
    return {"src": f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}", "coarse": coarse}
