"""Images of any kind of numbers as pictures that a browser shows."""

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData

_DARK = 64  # bytes that never reach this are not bytes of brightness (digits: 0 to 16)
Range = tuple[float, float]


def channels_last(picture: Array, *, by: str) -> Array:
    """Height x width (x 3 or 4 channels), whatever the order was; `InvalidData` when it is no picture."""
    if picture.ndim == 3 and picture.shape[2] not in (1, 3, 4) and picture.shape[0] in (1, 3, 4):
        picture = np.moveaxis(picture, 0, 2)
    if picture.ndim == 3 and picture.shape[2] == 1:
        picture = picture[:, :, 0]
    if picture.ndim not in (2, 3) or picture.size == 0 or (picture.ndim == 3 and picture.shape[2] not in (3, 4)):
        raise InvalidData(
            f"{by}: images must be height x width, with 1, 3 or 4 channels if any, got shape {picture.shape}"
        )
    if picture.dtype.kind not in "uifb":
        raise InvalidData(f"{by}: images must be numbers, got type {picture.dtype}")
    return picture


def brightness(pictures: Sequence[Array]) -> Range | None:
    """The darkest and the brightest value that the pictures should be stretched between; None for plain bytes.

    >>> brightness([np.array([[0, 200]], dtype=np.uint8)]), brightness([np.array([[0.0, 16.0]])])
    (None, (0.0, 16.0))
    """
    if not pictures:
        return None
    if all(p.dtype == np.uint8 for p in pictures) and max(p.max(initial=0) for p in pictures) >= _DARK:
        return None
    finite = [_finite(picture) for picture in pictures]
    low, high = min(float(p.min()) for p in finite), max(float(p.max()) for p in finite)
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)


def stretched(picture: Array, between: Range | None) -> Array:
    """The picture as bytes, its values spread ``between`` dark and bright.

    >>> stretched(np.array([[0.0, 8.0, 16.0]]), (0.0, 16.0))
    array([[  0, 127, 255]], dtype=uint8)
    """
    if between is None and picture.dtype == np.uint8:
        return picture
    low, high = between or (0.0, 255.0)
    scaled = 255 * (_finite(picture) - low) / ((high - low) or 1)
    return np.clip(scaled, 0, 255).astype(np.uint8)


def encoded(picture: Array, side: int, *, exact: int | None = None) -> tuple[bytes, str]:
    """The bytes of a picture of at most ``side`` pixels either way, and their media type.

    Pictures of up to ``exact`` pixels, by default all that need not shrink, keep every pixel.
    """
    image = Image.fromarray(np.ascontiguousarray(picture))
    shrunk = max(image.size) > side
    photograph = shrunk or (exact is not None and max(image.size) > exact)
    buffer = io.BytesIO()
    if shrunk:
        image.thumbnail((side, side))
    # A shrunk photograph has lost its exact pixels already: JPEG takes a fifth of the room.
    if photograph and image.mode in ("L", "RGB"):
        image.save(buffer, "JPEG", quality=82)
        return buffer.getvalue(), "image/jpeg"
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue(), "image/png"


def _finite(picture: Array) -> Array:
    return np.nan_to_num(picture.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
