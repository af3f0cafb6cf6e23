"""Gzipped idx files, the format of MNIST and its kin."""

import gzip
import os
import zlib

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData


def read_idx(path: str | os.PathLike[str], most: int) -> Array:
    """The first ``most`` items (fewer when there are no more) of a gzipped idx file of bytes.

    The format: two zeros, the type (8: bytes), the number of dimensions, each dimension as a big-endian 32-bit
    number, then the values.
    """
    try:
        with gzip.open(path) as file:
            zeros, kind, n_dimensions = file.read(2), file.read(1), file.read(1)
            if (zeros, kind) != (b"\0\0", b"\x08") or not n_dimensions[0]:
                raise ValueError("another format")
            shape = np.frombuffer(file.read(4 * n_dimensions[0]), dtype=">u4").astype(int)
            shape[0] = min(most, shape[0])
            return np.frombuffer(file.read(int(shape.prod())), dtype=np.uint8).reshape(shape)
    except (OSError, EOFError, ValueError, IndexError, zlib.error):
        raise InvalidData(f"{path} is not a readable gzipped idx file of bytes; fetch it again") from None
