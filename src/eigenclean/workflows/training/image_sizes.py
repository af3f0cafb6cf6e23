"""Photos of several sizes for a network, which needs one."""

import io
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any

from eigenclean.errors import EigencleanError
from eigenclean.sources import LazyImages
from eigenclean.workflows.options import Notify, ignore

SIDE = 64  # pixels of the square that photos of several sizes become
ENCODER_SIDE = 96  # for an encoder that is fine-tuned, which was trained on larger ones
_THREADS = 4


def in_one_size(images: Any, side: int | None = None, *, default: int = SIDE, notify: Notify = ignore) -> Any:
    """The images, brought to squares of ``side`` pixels; None takes ``default``, if they have several sizes.

    The middle of each is kept. Images that were opened with a size of their own stay as they are.
    """
    if not isinstance(images, LazyImages) or images.resize is not None:
        return images
    if side is None:
        sizes = _sizes(images)
        if len(sizes) < 2:
            return images
        side = default
        notify(f"the images have {len(sizes)} sizes and are brought to {side} x {side} pixels")
    resized = copy(images)
    vars(resized).pop("shape", None)  # of the first image as it was
    resized.resize = side
    return resized


def _sizes(images: LazyImages) -> set[tuple[int, int]]:
    """Widths and heights, from the headers; an image that cannot be read is somebody else's to report."""
    from PIL import Image

    def size(row: int) -> tuple[int, int] | None:
        try:
            with Image.open(io.BytesIO(images.read(row))) as image:
                return image.size
        except (EigencleanError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            return None

    with ThreadPoolExecutor(_THREADS) as pool:
        return {each for each in pool.map(size, range(len(images))) if each is not None}
