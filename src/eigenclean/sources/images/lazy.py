"""Encoded images that are decoded on access, as if they were one array."""

import hashlib
import os
from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.sources.images.decode import decode

if TYPE_CHECKING:
    from PIL.Image import Image

KEY_BYTES = 16
_THREADS = min(8, os.cpu_count() or 1)  # decoders let other threads run


class LazyImages(Sequence[Array]):
    """Encoded images as if they were one array of uint8, n x H x W x 3 (grey: n x H x W).

    A row is a decoded image; a slice or an array of row numbers gives them as one array. All have the size of the
    first one, or are brought to one size.

    Args:
        resize: None, or the side of the square that every image becomes: its shorter side is scaled to it and the
            middle of the longer one is kept.
        grey: brightness only.
        by: what to call the images in messages.

    Attributes:
        keys: a hash of each image's bytes, once all of them have been read.
    """

    dtype = np.dtype(np.uint8)

    def __init__(self, *, resize: int | None = None, grey: bool = False, by: object) -> None:
        if resize is not None and (type(resize) is not int or resize < 1):
            raise InvalidOption(f"{by}: resize must be a number of pixels from 1, got {resize!r}")
        if not isinstance(grey, bool):
            raise InvalidOption(f"{by}: grey must be true or false, got {grey!r}")
        self.resize = resize
        self.grey = grey
        self.keys: Array | None = None

    @abstractmethod
    def read(self, row: int) -> bytes:
        """One image as it is stored."""

    @abstractmethod
    def title(self, row: int) -> str:
        """What to call that image in messages."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """As an array's; the first image is decoded to find out."""
        return (len(self), *self._decoded(0).shape)

    @property
    def ndim(self) -> int:
        """Number of axes that the array of all images would have."""
        return 3 if self.grey else 4

    def __getitem__(self, row: Any) -> Any:
        """One image, or several as one array."""
        if isinstance(row, int | np.integer):
            return self._checked(range(len(self))[int(row)])
        rows = np.arange(len(self))[row].tolist()
        images = np.empty((len(rows), *self.shape[1:]), dtype=np.uint8)

        def fill(place: int) -> None:
            images[place] = self._checked(rows[place])

        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(fill, range(len(rows))):  # raises the first error in order
                pass
        return images

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """All images as one array: they are decoded now, and must have one shape."""
        images: Array = self[:]
        return images if dtype is None else images.astype(dtype)

    def preview(self, row: int, *, min_side: int) -> Array:
        """One image for display: in its own proportions, of about that size if it is a large JPEG."""
        return np.asarray(decode(self.read(row), title=self.title(row), grey=self.grey, min_side=min_side))

    def fingerprint(self, order: Sequence[int] | None = None) -> str:
        """Of the contents (in another order, if one is given) and options; every image is read, none decoded."""
        if self.keys is None:
            with ThreadPoolExecutor(_THREADS) as pool:
                digests = pool.map(lambda row: content_key(self.read(row)), range(len(self)))
                self.keys = np.array(list(digests), dtype=f"S{KEY_BYTES}")
        digest = hashlib.blake2b(f"{self.resize} {self.grey}".encode(), digest_size=16)
        digest.update((self.keys if order is None else self.keys[list(order)]).tobytes())
        return digest.hexdigest()

    def _checked(self, row: int) -> Array:
        image = self._decoded(row)
        if image.shape != self.shape[1:]:
            raise InvalidData(
                f"images must have one size, but {self.title(0)} has {_size(self.shape[1:])} pixels and "
                f"{self.title(row)} has {_size(image.shape)}; bring them to one size with resize, such as "
                "folder:PATH?resize=64"
            )
        return image

    def _decoded(self, row: int) -> Array:
        image = decode(self.read(row), title=self.title(row), grey=self.grey)
        return np.asarray(image if self.resize is None else square(image, self.resize))


def content_key(content: bytes | memoryview) -> bytes:
    """A hash of the content: equal contents have equal keys.

    >>> content_key(b"cat") == content_key(b"cat"), content_key(b"cat") == content_key(b"dog")
    (True, False)
    """
    return hashlib.blake2b(content, digest_size=KEY_BYTES).digest()


def square(image: "Image", side: int, resampling: int | None = None) -> "Image":
    """The middle of the image, its shorter side scaled to ``side`` pixels."""
    from PIL import Image

    width, height = image.size
    shorter = min(width, height)
    wide, tall = max(side, side * width // shorter), max(side, side * height // shorter)
    left, top = (wide - side) // 2, (tall - side) // 2
    how = Image.Resampling.BILINEAR if resampling is None else Image.Resampling(resampling)
    # A strip of a million by one pixels must not become one of a million times the side: what will be cut off is
    # not scaled.
    scale_x, scale_y = width / wide, height / tall
    if max(wide, tall) > 64 * side:
        box = (left * scale_x, top * scale_y, (left + side) * scale_x, (top + side) * scale_y)
        return image.resize((side, side), how, box=box)
    return image.resize((wide, tall), how).crop((left, top, left + side, top + side))


def _size(shape: Sequence[int]) -> str:
    return f"{shape[1]} x {shape[0]}"
