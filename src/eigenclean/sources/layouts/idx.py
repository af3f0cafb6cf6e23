"""MNIST and data sets in its format, such as Fashion-MNIST: idx files, compressed or not."""

import gzip
import math
import struct
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.images.source import ImageSource, choose_split
from eigenclean.sources.read_errors import explain_read_errors

_PREFIX = {"train": "train", "test": "t10k"}
_BYTES = 0x08  # the type of bytes


def open_mnist(path: Path, *, name: str, split: str | None = None) -> ImageSource:
    """Images of one channel and their labels, from four idx files under their usual names."""
    prefix = _PREFIX[choose_split(split, [*_PREFIX], by=name)]
    images = read_idx(_find(path, f"{prefix}-images", 3, name=name), 3)
    labels = read_idx(_find(path, f"{prefix}-labels", 1, name=name), 1)
    if len(images) != len(labels):
        raise InvalidData(
            f"{name}: images and labels must have equal length, got {len(images)} images and {len(labels)} labels"
        )
    return ImageSource(name, images, labels.astype(np.int64), splits=[*_PREFIX])


def read_idx(path: Path, ndim: int) -> Array:
    """An idx file of bytes with so many dimensions."""
    opened = gzip.open if path.suffix == ".gz" else open
    with explain_read_errors(str(path), "idx file"), opened(path, "rb") as file:
        zeros, kind, dimensions = struct.unpack(">HBB", file.read(4))
        if (zeros, kind, dimensions) != (0, _BYTES, ndim):
            raise ValueError(f"it should be bytes in {ndim} dimensions")
        shape = struct.unpack(f">{ndim}I", file.read(4 * ndim))
        expected = math.prod(shape)
        content = file.read(expected + 1)  # never more than the header says, however far it would unpack
    if len(content) != expected:
        got = "more" if len(content) > expected else len(content)
        raise InvalidData(f"{path} must hold {' x '.join(map(str, shape))} bytes, got {got}; download it again")
    return np.frombuffer(content, dtype=np.uint8).reshape(shape)


def _find(folder: Path, stem: str, ndim: int, *, name: str) -> Path:
    usual = f"{stem}-idx{ndim}-ubyte"
    for file in (usual, f"{stem}.idx{ndim}-ubyte"):
        for suffix in ("", ".gz"):
            if (folder / f"{file}{suffix}").is_file():
                return folder / f"{file}{suffix}"
    raise InvalidData(f"{name}: there is no {usual} (or {usual}.gz) in {folder}; check the path")
