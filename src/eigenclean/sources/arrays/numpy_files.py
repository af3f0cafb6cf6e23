"""``.npy`` and ``.npz`` files; arrays that are stored uncompressed are memory-mapped."""

import csv
import struct
import zipfile
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from eigenclean.arrays import Array, preview
from eigenclean.errors import InvalidData
from eigenclean.sources.arrays.mapped import map_array, read_header
from eigenclean.sources.arrays.memory import MemorySource, check_texts
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.raw import LabelSource, TextSource
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.columns import LABEL_NAMES


def open_npy(
    path: Path, *, name: str, labels: Array | None = None, need_features: bool = True
) -> MemorySource | LabelSource:
    """Memory-mapped features, whose ``labels`` have to come from elsewhere; or labels alone, if they are enough."""
    if labels is None and need_features:
        raise InvalidData(f"{name} holds features only; give their labels with --labels, for example y.npy")
    with explain_read_errors(name, ".npy file"):
        array = map_array(path, name=name)
    if labels is not None:
        return MemorySource(name, array, labels)
    if array.ndim != 1:
        raise InvalidData(f"{name} holds features only; give their labels with --labels, for example y.npy")
    return LabelSource(name, np.array(array))


def read_labels(path: Path) -> Array:
    """Labels from a ``.npy`` file, or from a ``.txt`` or ``.csv`` file with one label per line."""
    name, suffix = str(path), path.suffix.lower()
    if not path.is_file():
        raise InvalidData(f"there is no label file {name}; check the path")
    if suffix == ".npy":
        with explain_read_errors(name, ".npy file"):
            return np.array(map_array(path, name=name))
    if suffix not in (".txt", ".csv"):
        raise InvalidData(f"{name}: labels are read from .npy, .txt or .csv files, got {suffix or 'no suffix'!r}")
    with explain_read_errors(name, "text file"):
        lines = _csv_cells(path) if suffix == ".csv" else path.read_text(encoding="utf-8-sig").splitlines()
    values = [line.strip() for line in lines]
    while values and not values[-1]:
        values.pop()
    try:
        return np.array([int(value) for value in values], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(values, dtype=np.str_)


def _csv_cells(path: Path) -> list[str]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    for number, row in enumerate(rows, start=1):
        if len(row) > 1:
            raise InvalidData(f"{path} must have one label per line, but line {number} has {len(row)} columns")
    cells = [row[0] if row else "" for row in rows]
    return cells[1:] if cells and cells[0].strip().lower() in LABEL_NAMES else cells


_WANTED = ("features", "labels", "ids", "images", "texts")
_CONTENTS = {"features", "images", "texts"}
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature, …, length of the name, length of the extra field
_ENCRYPTED = 0x1


def open_npz(
    path: Path, *, name: str, labels: Array | None = None, need_features: bool = True
) -> MemorySource | ImageSource | TextSource | LabelSource:
    """Arrays ``features`` (or else ``images``, or else ``texts``) and ``labels``, and ``ids`` if they are there.

    ``labels`` given separately replace those of the archive. Without ``need_features`` there may be labels alone.
    """
    with explain_read_errors(name, ".npz archive"), zipfile.ZipFile(path) as archive:
        members = [info.filename.removesuffix(".npy") for info in archive.infolist()]
        _check_members(members, name=name, need_labels=labels is None, need_features=need_features)
        keys = [key for key in _WANTED if key != "labels" or labels is None]
        arrays = read_members(path, archive, keys, name=name)
    if labels is None:
        labels = np.array(arrays["labels"])
    ids = np.array(arrays["ids"]) if "ids" in arrays else None
    if not _CONTENTS & {*arrays}:
        return LabelSource(name, labels, ids=ids)
    if "features" not in arrays and "images" not in arrays:
        return TextSource(name, check_texts(arrays["texts"], len(arrays["texts"]), by=name), labels, ids=ids)
    if "features" not in arrays:
        return ImageSource(name, arrays["images"], labels, ids=ids, texts=arrays.get("texts"))
    images, texts = arrays.get("images"), arrays.get("texts")
    return MemorySource(name, arrays["features"], labels, ids=ids, images=images, texts=texts)


def read_members(path: Path, archive: zipfile.ZipFile, names: Sequence[str], *, name: str) -> dict[str, Array]:
    """The arrays of these names that an ``.npz`` archive has."""
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    return {
        key: _read(path, archive, members[key], name=f"the array {key!r} of {name}")
        for key in names
        if key in members
    }


def _check_members(members: Collection[str], *, name: str, need_labels: bool, need_features: bool) -> None:
    available = f"its arrays are {preview(np.array(sorted(members)))}"
    if need_features and not _CONTENTS & {*members}:
        raise InvalidData(f"{name} has no array 'features'; {available}; add it, or 'images' or 'texts' to embed")
    if need_labels and "labels" not in members:
        raise InvalidData(f"{name} has no array 'labels'; {available}; add it, or give the labels with --labels")


def _read(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, *, name: str) -> Array:
    if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & _ENCRYPTED:
        return map_array(path, name=name, offset=_data_offset(path, info), size=info.file_size)
    with archive.open(info) as file:
        read_header(file, name=name)
    with archive.open(info) as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
        return array


def _data_offset(path: Path, info: zipfile.ZipInfo) -> int:
    # The extra field may differ from the one in the central directory, so only the local header knows.
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        signature, name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if signature != b"PK\x03\x04":
        raise zipfile.BadZipFile("Bad magic number for file header")
    return int(info.header_offset + _LOCAL_HEADER.size + name_length + extra_length)
