"""Images in files, decoded when they are looked at."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.sources.reading import reading

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm"}
_THREADS = min(8, os.cpu_count() or 1)  # decoders let other threads run


class ImageFiles(Sequence[Array]):
    """Image files as if they were one array of uint8, n x H x W x 3 (grey: n x H x W).

    A row is a decoded image; a slice or an array of row numbers gives them as one array. All have the size of the
    first one, or are brought to one size.

    Args:
        root: folder that the names are relative to.
        names: one per image.
        resize: None, or the side of the square that every image becomes: its shorter side is scaled to it and the
            middle of the longer one is kept.
        grey: brightness only.
    """

    dtype = np.dtype(np.uint8)

    def __init__(self, root: Path, names: Array, *, resize: int | None = None, grey: bool = False) -> None:
        if resize is not None and (type(resize) is not int or resize < 1):
            raise InvalidOption(f"{root}: resize must be a number of pixels from 1, got {resize!r}")
        if not isinstance(grey, bool):
            raise InvalidOption(f"{root}: grey must be true or false, got {grey!r}")
        self.root = root
        self.names = names
        self.resize = resize
        self.grey = grey

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """As an array's; the first image is decoded to find out."""
        return (len(self), *self._decoded(0).shape)

    @property
    def ndim(self) -> int:
        """As an array's."""
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
        """All images decoded."""
        images: Array = self[:]
        return images if dtype is None else images.astype(dtype)

    def whole(self, row: int) -> Array:
        """One image for looking at, of whatever size it is."""
        return self._decoded(row)

    def fingerprint(self) -> str:
        """Of names, sizes of files and options: decoding a million photographs to compare them takes hours."""
        return self.fingerprint_as({})

    def fingerprint_as(self, moved: Mapping[str, str]) -> str:
        """The fingerprint if some files had other names: ``moved`` says which names they would have, in order."""
        digest = hashlib.blake2b(f"{self.resize} {self.grey}".encode(), digest_size=16)
        names = self.names.tolist()
        for known, name in (
            sorted((moved.get(name, name), name) for name in names) if moved else zip(names, names, strict=True)
        ):
            with reading(name, "image"):
                size = (self.root / name).stat().st_size
                digest.update(f"{known}\0{size}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def _checked(self, row: int) -> Array:
        image = self._decoded(row)
        if image.shape != self.shape[1:]:
            first, other = self.root / self.names[0], self.root / self.names[row]
            raise InvalidData(
                f"images must have one size, but {first} has {_size(self.shape[1:])} pixels and {other} has "
                f"{_size(image.shape)}; bring them to one size with resize, such as folder:PATH?resize=64"
            )
        return image

    def _decoded(self, row: int) -> Array:
        path = self.root / self.names[row]
        if not path.is_file():
            raise InvalidData(f"there is no image {path}; check that the data set is complete")
        from PIL import Image  # most sources have no images

        with reading(str(path), "image"), Image.open(path) as opened:
            # A palette with transparency goes through RGBA, or Pillow complains.
            image = opened.convert("RGBA") if "transparency" in opened.info else opened
            image = image.convert("L" if self.grey else "RGB")
            return np.asarray(image if self.resize is None else _square(image, self.resize))


def _square(image: "Image", side: int) -> "Image":
    from PIL import Image

    width, height = image.size
    shorter = min(width, height)
    wide, tall = max(side, side * width // shorter), max(side, side * height // shorter)
    left, top = (wide - side) // 2, (tall - side) // 2
    return image.resize((wide, tall), Image.Resampling.BILINEAR).crop((left, top, left + side, top + side))


def _size(shape: Sequence[int]) -> str:
    return f"{shape[1]} x {shape[0]}"
