"""CIFAR-10 and CIFAR-100 from their original files, the binary version or the python version."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.names import check_name
from eigenclean.sources.images.source import ImageSource, choose_split
from eigenclean.sources.layouts.file_lists import find_folder
from eigenclean.sources.layouts.safe_pickle import read_python2_batch
from eigenclean.sources.read_errors import explain_read_errors

_PIXELS = 3 * 32 * 32
Batch = tuple[Array, Array]  # n x 3072 bytes, n labels


@dataclass(frozen=True)
class _Layout:
    """Where everything is in one of the two data sets.

    Attributes:
        folders: what its archives unpack to, the binary version first.
        files: names of the batches of each split; the binary version adds ``.bin``.
        keys: what a binary record begins with, one byte each, and the python version's name of it.
        sizes: how many classes each of them has.
    """

    folders: tuple[str, str]
    files: dict[str, Sequence[str]]
    keys: Sequence[str]
    sizes: Sequence[int]


_TEN = _Layout(
    ("cifar-10-batches-bin", "cifar-10-batches-py"),
    {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]},
    ("labels",),
    (10,),
)
_HUNDRED = _Layout(
    ("cifar-100-binary", "cifar-100-python"),
    {"train": ["train"], "test": ["test"]},
    ("coarse_labels", "fine_labels"),
    (20, 100),
)


def open_cifar10(path: Path, *, name: str, split: str | None = None) -> ImageSource:
    """CIFAR-10: classes 0 to 9, rows in the official order, on which CIFAR-10N relies too."""
    return _open(path, _TEN, "labels", name=name, split=split)


def open_cifar100(path: Path, *, name: str, split: str | None = None, classes: str = "fine") -> ImageSource:
    """CIFAR-100: its 100 "fine" classes or its 20 "coarse" ones."""
    check_name(classes, ("coarse", "fine"), by=name, what="classes")
    return _open(path, _HUNDRED, f"{classes}_labels", name=name, split=split)


def _open(path: Path, layout: _Layout, key: str, *, name: str, split: str | None) -> ImageSource:
    files = layout.files[choose_split(split, [*layout.files], by=name)]
    binary = find_folder(path, *layout.folders, holding=f"{files[0]}.bin")
    pickled = find_folder(path, *layout.folders, holding=files[0])
    read: Callable[[str], Batch]
    if binary is not None:  # preferred: there is nothing in it but bytes
        read = lambda file: _read_binary(binary / f"{file}.bin", layout, key)  # noqa: E731
    elif pickled is not None:
        read = lambda file: _read_pickled(pickled / file, layout, key)  # noqa: E731
    else:
        raise InvalidData(
            f"{name}: no {files[0]}.bin (binary version) and no {files[0]} (python version) in {path}; "
            "give the folder that the original archive unpacks to"
        )
    pixels, labels = zip(*map(read, files), strict=True)
    planes = np.concatenate(pixels).reshape(-1, 3, 32, 32)
    images = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
    return ImageSource(name, images, np.concatenate(labels), splits=[*layout.files])


def _read_binary(path: Path, layout: _Layout, key: str) -> Batch:
    length = len(layout.keys) + _PIXELS
    _check_there(path)
    with explain_read_errors(str(path), "batch of CIFAR"):
        data = np.fromfile(path, dtype=np.uint8)
    if len(data) == 0 or len(data) % length:
        raise InvalidData(
            f"{path} must be records of {length} bytes, got {len(data)} bytes, which is no whole number of them; "
            "download it again"
        )
    records = data.reshape(-1, length)
    labels = records[:, layout.keys.index(key)].astype(np.int64)
    return records[:, len(layout.keys) :], _check_labels(labels, path, layout, key)


def _read_pickled(path: Path, layout: _Layout, key: str) -> Batch:
    _check_there(path)
    entries = read_python2_batch(path, ("data", key))
    data, labels = entries["data"], entries[key]
    if data.dtype != np.uint8 or data.shape != (len(labels), _PIXELS) or labels.ndim != 1:
        raise InvalidData(
            f"{path} must have {_PIXELS} bytes for each of its {len(labels)} labels, "
            f"got shape {data.shape} of type {data.dtype}; download it again"
        )
    return data, _check_labels(labels, path, layout, key)


def _check_labels(labels: Array, path: Path, layout: _Layout, key: str) -> Array:
    n_classes = layout.sizes[layout.keys.index(key)]
    wrong = (labels < 0) | (labels >= n_classes)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidData(
            f"{path}: labels must be from 0 to {n_classes - 1}, got {int(labels[row])} in row {row}; is it another "
            "data set?"
        )
    return labels


def _check_there(path: Path) -> None:
    if not path.is_file():
        raise InvalidData(f"there is no file {path}; check that the data set is complete")
