"""One array in NumPy's own format, memory-mapped: a ``.npy`` file, or such a file stored inside another one."""

import math
import os
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData

_HEADERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


def map_array(path: str | os.PathLike[str], *, name: str, offset: int = 0, size: int | None = None) -> Array:
    """Map the array that starts at byte ``offset`` of the file and is ``size`` bytes long, header included."""
    with open(path, "rb") as file:
        end = os.fstat(file.fileno()).st_size if size is None else offset + size
        file.seek(offset)
        shape, order, dtype = read_header(file, name=name)
        start = file.tell()
    n_bytes = math.prod(shape) * dtype.itemsize
    if start + n_bytes > end:
        raise InvalidData(
            f"{name} is truncated: an array of shape {shape} and type {dtype} takes {n_bytes} bytes, "
            f"but only {max(0, end - start)} are there; write it again"
        )
    if n_bytes == 0:  # nothing can be mapped
        return np.empty(shape, dtype)
    return np.memmap(path, dtype=dtype, mode="r", offset=start, shape=shape, order=order)


def read_header(file: IO[bytes], *, name: str) -> tuple[tuple[int, ...], Any, np.dtype[Any]]:
    """Shape, order ("C" or "F") and type of the array whose header is next in ``file``; objects are refused."""
    version = npy_format.read_magic(file)
    if version not in _HEADERS:
        raise InvalidData(f"{name} is written in version {version} of the .npy format; save a plain array instead")
    shape, fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise InvalidData(
            f"{name} holds Python objects, which only pickle could load, and pickle can run anything; "
            "save numbers or strings, for example array.astype(str)"
        )
    return shape, "F" if fortran else "C", dtype
