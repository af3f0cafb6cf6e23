"""Encoded images, whatever cameras and programs have written: decoded to upright RGB or grey, never too large."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.read_errors import explain_read_errors

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

MOST_PIXELS = 89_000_000  # decoded 270 MB: larger ones are maps, mosaics or bombs
_ORIENTATION = 0x0112  # EXIF's number of the tag
_DEEP = ("I", "F")  # more than 8 bits per pixel; also "I;16" and its relatives


def decode(data: bytes, *, title: str, grey: bool = False, min_side: int | None = None) -> "Image":
    """The image, upright as its camera held it, in RGB or grey; `InvalidData` names what cannot be read.

    Of animations it is the first frame; 16 bits become 8; hidden colours of transparent pixels are kept.

    Args:
        data: the file's bytes.
        title: what to call it in messages.
        grey: brightness only.
        min_side: a JPEG may be decoded at a fraction of its size, as long as no side gets shorter than this.

    >>> decode(b"", title="cat.jpg")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: cat.jpg is empty, 0 bytes; copy it again or leave it out
    """
    if not data:
        raise InvalidData(f"{title} is empty, 0 bytes; copy it again or leave it out")
    with explain_read_errors(title, "image"), _opened(data, title) as opened:
        width, height = opened.size
        if width * height > MOST_PIXELS:
            raise InvalidData(f"{title} has {width} x {height} pixels, the most is {MOST_PIXELS}; shrink it first")
        if min_side is not None:
            # libjpeg halves once, twice or three times, and does not go below what is asked for.
            factor = min_side / min(width, height)
            opened.draft("RGB", (round(width * factor), round(height * factor)))
        image = _upright(opened)
        if image.mode in _DEEP or image.mode.startswith("I;"):
            image = _eight_bits(image)
        elif "transparency" in opened.info:  # a palette with transparency goes through RGBA, or Pillow complains
            image = image.convert("RGBA")
        return image.convert("L" if grey else "RGB")


def _opened(data: bytes, title: str) -> "ImageFile":
    from PIL import Image, UnidentifiedImageError

    try:
        return Image.open(io.BytesIO(data))
    except UnidentifiedImageError:  # whose own message is about a piece of memory
        raise InvalidData(f"{title} is not a readable image: no known format; leave it out") from None


def _upright(image: "Image") -> "Image":
    """Rotated as its EXIF tag says; a damaged tag is no reason to leave the image out."""
    from PIL import ImageOps

    try:
        is_rotated = image.getexif().get(_ORIENTATION, 1) != 1  # checked first, because rotating copies
    except Exception:  # whatever a parser of damaged bytes raises
        return image
    return ImageOps.exif_transpose(image) if is_rotated else image


@contextmanager
def silent_decoders() -> Iterator[None]:
    """Inside the block, Pillow does not warn of odd metadata; entered once, before threads decode."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        from PIL import Image

        # Sizes are checked by `decode`, which reports by name what Pillow would only warn of.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        yield


def _eight_bits(image: "Image") -> "Image":
    """Grey values as bytes: 16 bits lose the lower half, anything else is stretched over its own range."""
    from PIL import Image

    values: Array = np.asarray(image).astype(np.float32)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if low >= 0 and 255 < high <= 65_535:
        values = values / 257
    elif low < 0 or high > 255:
        values = (values - low) * (255 / ((high - low) or 1))
    elif image.mode == "F" and high <= 1:
        values = values * 255
    return Image.fromarray(np.nan_to_num(values).astype(np.uint8))
