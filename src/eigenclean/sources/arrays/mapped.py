"""One array in NumPy's own format, memory-mapped: a ``.npy`` file, or such a file stored inside another one."""

import math
import mmap
import os
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from eigenclean.arrays import Array, row_chunks
from eigenclean.errors import InvalidData
from eigenclean.sources.base import Reader

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


def is_whole_map(array: Array) -> bool:
    """Whether the array is a file's, mapped as it is: row after row, and all of it."""
    base: object = array.base
    return isinstance(array, np.memmap) and isinstance(base, mmap.mmap) and bool(array.flags.c_contiguous)


def read_blocks(array: Array, rows: int, *, name: str) -> Iterator[Array]:
    """The rows of a mapped file, read instead of mapped.

    Mapped pages stay in memory, and a mapped file that is truncated meanwhile kills the process (SIGBUS), where
    reading raises an error.
    """
    reader = MapReader(array, name=name)
    for chunk in row_chunks(len(array), 1, rows):
        yield reader.read(chunk.start, chunk.stop)


class MapReader(Reader):
    """Reads any rows of a mapped file."""

    def __init__(self, array: Array, *, name: str) -> None:
        assert isinstance(array, np.memmap) and array.filename is not None
        self._path, self._offset, self._name = os.fspath(array.filename), array.offset, name
        self._dtype, self._shape = array.dtype, array.shape[1:]

    def read(self, start: int, stop: int) -> Array:
        """From the file, into new memory."""
        block = np.empty((stop - start, *self._shape), dtype=self._dtype)
        memory = block.reshape(-1).view(np.uint8).data
        with open(self._path, "rb", buffering=0) as file:
            file.seek(self._offset + start * math.prod(self._shape) * self._dtype.itemsize)
            while len(memory):
                n = file.readinto(memory)
                if not n:
                    raise InvalidData(
                        f"{self._name} has become shorter since it was opened; run again when it is complete"
                    )
                memory = memory[n:]
        return block


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
