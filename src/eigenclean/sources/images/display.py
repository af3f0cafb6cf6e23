"""Image arrays of any numeric type as image files that a browser can show."""

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData

_DARK = 64  # bytes that never reach this are not bytes of brightness (digits: 0 to 16)
Range = tuple[float, float]


def channels_last(image: Array, *, by: str) -> Array:
    """Height x width (x 3 or 4 channels), whatever the order was; `InvalidData` when it is no image."""
    if image.ndim == 3 and image.shape[2] not in (1, 3, 4) and image.shape[0] in (1, 3, 4):
        image = np.moveaxis(image, 0, 2)
    if image.ndim == 3 and image.shape[2] == 1:
        image = image[:, :, 0]
    if image.ndim not in (2, 3) or image.size == 0 or (image.ndim == 3 and image.shape[2] not in (3, 4)):
        raise InvalidData(
            f"{by}: images must be height x width, with 1, 3 or 4 channels if any, got shape {image.shape}"
        )
    if image.dtype.kind not in "uifb":
        raise InvalidData(f"{by}: images must be numbers, got type {image.dtype}")
    return image


def brightness(images: Sequence[Array]) -> Range | None:
    """The darkest and the brightest value that the images should be stretched between; None for plain bytes.

    >>> brightness([np.array([[0, 200]], dtype=np.uint8)]), brightness([np.array([[0.0, 16.0]])])
    (None, (0.0, 16.0))
    """
    if not images:
        return None
    if all(p.dtype == np.uint8 for p in images) and max(p.max(initial=0) for p in images) >= _DARK:
        return None
    finite = [_finite(image) for image in images]
    low, high = min(float(p.min()) for p in finite), max(float(p.max()) for p in finite)
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)


def stretched(image: Array, between: Range | None) -> Array:
    """The image as bytes, its values spread ``between`` dark and bright.

    >>> stretched(np.array([[0.0, 8.0, 16.0]]), (0.0, 16.0))
    array([[  0, 127, 255]], dtype=uint8)
    """
    if between is None and image.dtype == np.uint8:
        return image
    low, high = between or (0.0, 255.0)
    scaled = 255 * (_finite(image) - low) / ((high - low) or 1)
    return np.clip(scaled, 0, 255).astype(np.uint8)


def encoded(image: Array, side: int, *, exact: int | None = None) -> tuple[bytes, str]:
    """The bytes of a image of at most ``side`` pixels either way, and their media type.

    Images of up to ``exact`` pixels, by default all that need not shrink, keep every pixel.
    """
    rendered = Image.fromarray(np.ascontiguousarray(image))
    shrunk = max(rendered.size) > side
    photograph = shrunk or (exact is not None and max(rendered.size) > exact)
    buffer = io.BytesIO()
    if shrunk:
        rendered.thumbnail((side, side))
    # A scaled photograph has lost its exact pixels already: JPEG takes a fifth of the bytes.
    if photograph and rendered.mode in ("L", "RGB"):
        rendered.save(buffer, "JPEG", quality=82)
        return buffer.getvalue(), "image/jpeg"
    rendered.save(buffer, "PNG", optimize=True)
    return buffer.getvalue(), "image/png"


def _finite(image: Array) -> Array:
    return np.nan_to_num(image.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
