"""Arrays out of a pickle without running anything in it.

PyTorch's ``.pt`` files are pickles, and a pickle may call any function it names. Here a name stands for one of a
few inert stand-ins or is refused, so that nothing from the file is ever executed, not even NumPy's own unpickling.
"""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData

LARGEST = 1 << 28  # bytes; the largest such file of CIFAR-N has 2.5 MB, and a zip archive can claim anything


class _PickledDtype:
    """Stands for ``numpy.dtype``: remembers what the file says."""

    code: str = ""
    byte_order: str = "="

    def __init__(self, code: str = "", *_: object) -> None:
        self.code = code

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.byte_order = state[1]

    def to_numpy(self) -> np.dtype[Any]:
        dtype = np.dtype(f"{self.byte_order}{self.code}")
        if dtype.kind not in "biuUS":
            raise TypeError(f"no labels have type {dtype}")
        return dtype


class _PickledArray:
    """Stands for ``numpy.ndarray``: remembers what the file says."""

    state: tuple[Any, ...] = ()

    def __init__(self, *_: object) -> None:
        pass

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def to_numpy(self) -> Array:
        _, shape, dtype, by_column, values = self.state
        return np.frombuffer(values, dtype=dtype.to_numpy()).reshape(shape, order="F" if by_column else "C")


class _Refused(Exception):
    """The pickle names something that is not part of an array."""


_STAND_INS: dict[str, object] = {
    "numpy.core.multiarray._reconstruct": _PickledArray,  # written by NumPy 1
    "numpy._core.multiarray._reconstruct": _PickledArray,  # written by NumPy 2
    "numpy.ndarray": "numpy.ndarray",  # only ever handed to _reconstruct, which does not look
    "numpy.dtype": _PickledDtype,
    "_codecs.encode": str.encode,  # old pickles write bytes as text to encode
}


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        try:
            return _STAND_INS[f"{module}.{name}"]
        except KeyError:
            raise _Refused(f"{module}.{name}") from None


def read_pickled_arrays(path: Path) -> dict[str, Array]:
    """The arrays by name in a ``.pt`` file (a zip archive around a pickle, or a bare pickle)."""
    try:
        loaded = _ArrayUnpickler(io.BytesIO(_pickle_bytes(path))).load()
        return {str(name): value.to_numpy() for name, value in loaded.items()}
    except _Refused as refused:
        raise InvalidData(
            f"{path} contains something other than arrays ({refused}); it is not opened, because a pickle may "
            "run any code; save the labels as .npz instead"
        ) from None
    except InvalidData:
        raise
    except Exception:  # a broken pickle or archive may raise anything
        raise InvalidData(f"{path} is not a readable .pt file of arrays by name; download it again") from None


def _pickle_bytes(path: Path) -> bytes:
    if not zipfile.is_zipfile(path):
        if path.stat().st_size > LARGEST:
            raise _too_large(path)
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        (member,) = [info for info in archive.infolist() if info.filename.rpartition("/")[2] == "data.pkl"]
        with archive.open(member) as file:
            content = file.read(LARGEST + 1)  # what the archive claims about sizes need not be true
    if len(content) > LARGEST:
        raise _too_large(path)
    return content


def _too_large(path: Path) -> InvalidData:
    return InvalidData(f"{path} holds more than {LARGEST >> 20} MB, too much for labels; save them as .npz instead")
