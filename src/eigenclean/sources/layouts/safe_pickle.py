"""Arrays out of a pickle without running anything in it.

PyTorch's ``.pt`` files and CIFAR's python version are pickles, and a pickle may call any function it names. Here a
name stands for one of a few inert stand-ins or is refused, so that nothing from the file is ever executed, not even
NumPy's own unpickling; Python's unpickler is not used either.
"""

import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.sources.layouts.pickle_data import UnknownName, load

_MAX_CODE = 16  # characters of a type, such as "<U12"
_MAX_NAME = 64  # characters of the name of an array
# Bytes; CIFAR-100's images have 155 MB, CIFAR-N's labels 2.5, and a zip archive can claim anything.
LARGEST = 1 << 28


class _PickledDtype:
    """Stands for ``numpy.dtype``: remembers what the file says."""

    byte_order: str = "="

    def __init__(self, code: str | bytes = "", *_: object) -> None:
        self.code = _short_text(code)

    def set_state(self, state: tuple[Any, ...]) -> None:
        self.byte_order = _short_text(state[1])

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

    def set_state(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def to_numpy(self) -> Array:
        _, shape, dtype, by_column, values = self.state
        content = values.to_bytes() if isinstance(values, _EncodedText) else values
        return np.frombuffer(content, dtype=dtype.to_numpy()).reshape(shape, order="F" if by_column else "C")


class _EncodedText:
    """Stands for many bytes that are written as text: they are made once, however often they are named."""

    def __init__(self, text: str) -> None:
        self._text = text

    def to_bytes(self) -> bytes:
        return self._text.encode("latin-1")


def _encoded(text: Any, encoding: Any) -> bytes | _EncodedText:
    """Stands for ``_codecs.encode``, with which old pickles write bytes."""
    if type(text) is not str or _short_text(encoding) not in ("latin1", "latin-1"):
        raise TypeError("bytes are written as Latin-1")
    return text.encode("latin-1") if len(text) <= _MAX_NAME else _EncodedText(text)


def _ndarray(*_: object) -> None:
    """Stands for ``numpy.ndarray``, which is only handed to ``_reconstruct``."""


_STAND_INS: dict[str, Callable[..., Any]] = {
    "numpy.core.multiarray._reconstruct": _PickledArray,  # written by NumPy 1
    "numpy._core.multiarray._reconstruct": _PickledArray,  # written by NumPy 2
    "numpy.ndarray": _ndarray,
    "numpy.dtype": _PickledDtype,
    "_codecs.encode": _encoded,
    "__builtin__.bytes": lambda: b"",  # how old pickles write empty bytes
}


def read_pickled_arrays(path: Path) -> dict[str, Array]:
    """The arrays by name in a ``.pt`` file (a zip archive around a pickle, or a bare pickle)."""
    with _explained(path, ".pt file of arrays by name"):
        loaded = load(_pickle_bytes(path), _STAND_INS)
        return {_text(name): value.to_numpy() for name, value in loaded.items()}


def read_python2_batch(path: Path, keys: Sequence[str]) -> dict[str, Array]:
    """Arrays and lists of integers by name from a pickle that Python 2 wrote, as CIFAR's batches are.

    Other entries, such as names of files, are passed over; a wanted one that is missing is an error.
    """
    with _explained(path, "batch of the python version"):
        loaded = load(_pickle_bytes(path), _STAND_INS)
        entries = {_text(name): value for name, value in loaded.items()}
        return {name: _numbers(entries[name]) for name in keys}


def _numbers(value: Any) -> Array:
    if isinstance(value, _PickledArray):
        return value.to_numpy()
    if not isinstance(value, list) or not all(isinstance(number, int) for number in value):
        raise TypeError("neither an array nor a list of integers")
    return np.array(value, dtype=np.int64)


def _short_text(value: Any) -> str:
    if type(value) not in (str, bytes) or len(value) > _MAX_CODE:
        raise TypeError("codes of types are short")
    return _text(value)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


@contextmanager
def _explained(path: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except UnknownName as refused:
        raise InvalidData(
            f"{path} contains something other than arrays ({refused}); it is not opened, because a pickle may "
            "run any code; save its arrays as .npz instead"
        ) from None
    except InvalidData:
        raise
    except Exception:  # a broken pickle or archive may raise anything
        raise InvalidData(f"{path} is not a readable {kind}; download it again") from None


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
    return InvalidData(
        f"{path} holds more than {LARGEST >> 20} MB, too much for a pickle; save its arrays as .npz instead"
    )
