"""What is embedded: one image or text per row, each with a cache key that is a hash of its content."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.features.encoders.base import IMAGE, TEXT
from eigenclean.sources import Source
from eigenclean.sources.images.decode import decode
from eigenclean.sources.images.lazy import LazyImages, content_key


class Contents(ABC):
    """One image or text per row.

    Reading and decoding are two steps, because a content whose key is in the cache need not be decoded.
    """

    kind: str

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @abstractmethod
    def read(self, row: int) -> Any:
        """The content as it is stored; `InvalidData` when it cannot be read."""

    @abstractmethod
    def key(self, content: Any) -> bytes:
        """The cache key of the content."""

    @abstractmethod
    def decode(self, content: Any, row: int, min_side: int | None) -> Any:
        """The content as encoders take it; `InvalidData` when it is damaged.

        A JPEG may be decoded at a fraction of its size, as long as no side gets shorter than ``min_side``.
        """


class EncodedImageContents(Contents):
    """Images in encoded form, such as JPEG files."""

    kind = IMAGE

    def __init__(self, images: LazyImages) -> None:
        self._images = images

    def __len__(self) -> int:
        return len(self._images)

    def read(self, row: int) -> bytes:
        """The bytes of the encoded image, as they are stored."""
        return self._images.read(row)

    def key(self, content: bytes) -> bytes:
        """A hash of the bytes."""
        return content_key(content)

    def decode(self, content: bytes, row: int, min_side: int | None) -> Any:
        """The image in RGB, as Pillow decodes it; errors name the file or the row."""
        return decode(content, title=self._images.title(row), min_side=min_side)


class ImageArrayContents(Contents):
    """Images in one array of pixels."""

    kind = IMAGE

    def __init__(self, images: Array) -> None:
        self._images = images

    def __len__(self) -> int:
        return len(self._images)

    def read(self, row: int) -> Array:
        """The pixels of one image, contiguous so that they can be hashed."""
        return np.ascontiguousarray(self._images[row])

    def key(self, content: Array) -> bytes:
        """A hash of shape and pixels."""
        return content_key(repr(content.shape).encode() + content.tobytes())

    def decode(self, content: Array, row: int, min_side: int | None) -> Any:
        """The pixels as an image; channels may be first or last."""
        from PIL import Image

        pixels = content
        if pixels.ndim == 3 and pixels.shape[2] not in (1, 3, 4) and pixels.shape[0] in (1, 3, 4):
            pixels = np.ascontiguousarray(np.moveaxis(pixels, 0, 2))
        if pixels.ndim == 3 and pixels.shape[2] == 1:
            pixels = pixels[:, :, 0]
        if pixels.size == 0 or (pixels.ndim == 3 and pixels.shape[2] not in (3, 4)):
            raise InvalidData(f"row {row}: images must have 1, 3 or 4 channels, got shape {content.shape}")
        return Image.fromarray(pixels).convert("RGB")


class TextContents(Contents):
    """Texts, one string for each row."""

    kind = TEXT

    def __init__(self, texts: Any) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def read(self, row: int) -> str:
        """The text of the row; what is no string becomes one."""
        return str(self._texts[row])

    def key(self, content: str) -> bytes:
        """A hash of the text as UTF-8."""
        return content_key(content.encode("utf-8", "surrogatepass"))

    def decode(self, content: str, row: int, min_side: int | None) -> str:
        """The text; one without a word is refused."""
        if not content.strip():
            raise InvalidData(f"the text of row {row} is empty")
        return content.encode("utf-8", "replace").decode()  # half of a surrogate pair is no text


def contents_of(source: Source, kind: str | None = None) -> Contents:
    """The images of a source, else its texts; with ``kind``, only "image" or only "text"."""
    available = [name for name, value in ((IMAGE, source.images), (TEXT, source.texts)) if value is not None]
    if not available or (kind is not None and kind not in available):
        has = " and ".join(f"{name}s" for name in available) or "neither images nor texts"
        expected = "images or texts" if kind is None else f"{kind}s"
        raise InvalidData(f"{source.name}: there are no {expected} to embed, it has {has}")
    if (kind or available[0]) == TEXT:
        return TextContents(source.texts)
    images = source.images
    return (
        EncodedImageContents(images)
        if isinstance(images, LazyImages)
        else ImageArrayContents(np.asanyarray(images))
    )
