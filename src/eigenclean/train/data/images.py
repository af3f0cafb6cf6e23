"""Images as networks take them: n x channels x height x width, in memory or in files."""

from hashlib import blake2b
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData

_CHANNELS = (1, 3, 4)


class ChannelFirstImages:
    """Images that are decoded on access, presented as an array of n x C x H x W bytes.

    Args:
        files: acts like an array of uint8, n x H x W (x C), such as `ImageFiles`.
        rows: which of them; None for all.
    """

    dtype = np.dtype(np.uint8)
    ndim = 4

    def __init__(self, files: Any, rows: Array | None = None) -> None:
        self.files = files
        self.rows = np.arange(len(files)) if rows is None else rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """n, channels, height, width."""
        height, width, *channels = self.files.shape[1:]
        return len(self), *(channels or [1]), height, width

    def __getitem__(self, rows: Any) -> Array:
        """The images of these rows, decoded."""
        return as_images(self.files[self.rows[rows]], by="images")

    def take(self, rows: Any) -> "ChannelFirstImages":
        """The images of these rows, not decoded yet."""
        return ChannelFirstImages(self.files, self.rows[rows])

    def digest(self) -> str:
        """A fingerprint of the files and rows."""
        return blake2b(f"{self.files.fingerprint()} {self.rows.tolist()}".encode(), digest_size=16).hexdigest()


def as_images(X: Any, *, by: str) -> Array:
    """Images as n x C x H x W, bytes or float32, without a copy where there need be none.

    n x H x W are images of one channel; n x H x W x C become n x C x H x W. Square maps of many channels are in
    order, also when they are as wide as an image has channels.

    >>> as_images(np.zeros((5, 8, 8, 3), dtype=np.uint8), by="images").shape
    (5, 3, 8, 8)
    >>> as_images(np.zeros((5, 112, 4, 4)), by="maps").shape
    (5, 112, 4, 4)
    """
    images: Array = np.asanyarray(X)
    if images.dtype == object:
        sizes = sorted({np.shape(image) for image in images.tolist()})
        raise InvalidData(f"{by}: images must all have one size, got {_list_sizes(sizes)}; resize them first")
    if images.dtype.kind not in "uif" or images.ndim not in (3, 4) or 0 in images.shape:
        raise InvalidData(
            f"{by}: images must be numbers, n x height x width (x channels), "
            f"got shape {images.shape} of type {images.dtype}"
        )
    if images.ndim == 3:
        images = images[:, None]
    elif images.shape[1] not in _CHANNELS and images.shape[3] in _CHANNELS and images.shape[2] != images.shape[3]:
        images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
    if images.dtype == np.uint8:
        return images
    images = images.astype(np.float32, copy=False)
    if not np.isfinite(images).all():
        raise InvalidData(f"{by}: images must be finite, but some pixels are NaN or infinite")
    return images


def _list_sizes(sizes: list[tuple[int, ...]]) -> str:
    listed = [" x ".join(map(str, size)) for size in sizes[:3]]
    return ", ".join(listed) + (" and others" if len(sizes) > 3 else "")
