"""Where rows come from: files, folders, data frames and arrays, all opened by one function."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.sources.base import Source
from eigenclean.sources.bundled import DATASETS
from eigenclean.sources.delimited import CsvRows
from eigenclean.sources.frames import FrameRows, as_matrix, as_vector, is_frame
from eigenclean.sources.hf import HfRows, is_saved_dataset
from eigenclean.sources.ipc import IpcRows
from eigenclean.sources.memory import MemorySource
from eigenclean.sources.npy import open_npy, read_labels
from eigenclean.sources.npz import open_npz
from eigenclean.sources.parquet import ParquetRows
from eigenclean.sources.tables import Rows, TableSource

__all__ = ["Source", "as_matrix", "as_vector", "open_source"]

_ARRAYS: dict[str, Callable[..., MemorySource]] = {".npz": open_npz, ".npy": open_npy}
_TABLES: dict[str, Callable[..., Rows]] = {
    ".parquet": ParquetRows,
    ".arrow": lambda path, name: IpcRows([path], name=name),
    ".feather": lambda path, name: IpcRows([path], name=name),
    ".ipc": lambda path, name: IpcRows([path], name=name),
    ".csv": CsvRows,
    ".tsv": CsvRows,
}
_IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm"}
_SUPPORTED = f"{', '.join([*_ARRAYS, *_TABLES])} files and saved Hugging Face data set folders"
_PARTS = ("features", "labels", "ids", "images", "texts")


def open_source(
    source: Any,
    *,
    labels: Any = None,
    label_column: str | None = None,
    feature_columns: str | Sequence[str] | None = None,
    id_column: str | None = None,
    text_column: str | None = None,
) -> Source:
    """Open rows with features and labels, wherever they are.

    Args:
        source: a path (``.npz``, ``.npy``, ``.parquet``, ``.arrow``, ``.feather``, ``.ipc``, ``.csv``, ``.tsv``,
            the folder of a saved Hugging Face data set), the name of a bundled data set ("digits"), a data frame of
            any library, a pair ``(features, labels)``, or a dict of arrays ``features``, ``labels`` and perhaps
            ``ids``, ``images``, ``texts``.
        labels: labels that are not in the source: an array, or a ``.npy``, ``.txt`` or ``.csv`` file.
        label_column: column of the labels in a table; by default "label" or a similar name.
        feature_columns: columns of the features, or patterns such as "f*"; by default the only column of lists of
            numbers, else all columns of numbers that are not labels or ids.
        id_column: column of unique row ids; by default "id" or "ids" if there is one.
        text_column: column of texts to show.

    >>> source = open_source(([[1.0, 0.0], [0.0, 1.0]], ["cat", "dog"]))
    >>> source.labels, source.features().shape
    (array(['cat', 'dog'], dtype='<U3'), (2, 2))
    >>> open_source("no/such/file.npz")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: there is no file or folder no/such/file.npz; check the path
    """
    if labels is not None and label_column is not None:
        raise InvalidOption(
            "labels come from a column or from elsewhere: give --label-column or --labels, not both"
        )
    columns = {
        "label_column": label_column,
        "feature_columns": feature_columns,
        "id_column": id_column,
        "text_column": text_column,
    }
    given = None if labels is None else _given_labels(labels)
    if isinstance(source, str | os.PathLike):
        return _open_path(Path(source), os.fspath(source), given, columns)
    if is_frame(source):
        return TableSource(FrameRows(source), labels=given, **_only_given(columns))
    _refuse_columns(columns, name="arrays")
    return _open_arrays(source, given)


def _open_path(path: Path, name: str, labels: Array | None, columns: Mapping[str, Any]) -> Source:
    suffix = path.suffix.lower()
    if os.path.isdir(path):  # unlike Path.is_dir, never an error
        _refuse_foreign_folder(path, name)
        return TableSource(HfRows(path, name=name), labels=labels, **_only_given(columns))
    if not os.path.exists(path):
        if name in DATASETS:
            _refuse_columns(columns, name=name)
            return DATASETS[name]()
        raise InvalidData(f"there is no file or folder {name}; check the path")
    if suffix in _ARRAYS:
        _refuse_columns(columns, name=name)
        return _ARRAYS[suffix](path, name=name, labels=labels)
    if suffix in _TABLES:
        return TableSource(_TABLES[suffix](path, name=name), labels=labels, **_only_given(columns))
    raise InvalidData(f"{name} is not a supported source: expected {_SUPPORTED}, got {suffix or 'no suffix'!r}")


def _open_arrays(source: Any, labels: Array | None) -> MemorySource:
    if isinstance(source, Mapping):
        arrays = dict(source)
    elif isinstance(source, tuple) and len(source) == 2:
        arrays = dict(zip(("features", "labels"), source, strict=True))
    else:
        arrays = {"features": source}
    unknown = [key for key in arrays if key not in _PARTS]
    if unknown or "features" not in arrays:
        raise InvalidData(
            f"arrays: a dict must have 'features' and may have {', '.join(map(repr, _PARTS[1:]))}, "
            f"got {', '.join(map(repr, arrays)) or 'nothing'}"
        )
    if labels is None and arrays.get("labels") is None:
        raise InvalidData("arrays: there are no labels; give a pair (features, labels), or labels=...")
    others = {key: as_vector(arrays[key]) for key in _PARTS[2:] if arrays.get(key) is not None}
    return MemorySource(
        "arrays",
        as_matrix(arrays["features"]),
        as_vector(arrays["labels"]) if labels is None else labels,
        **others,
    )


def _given_labels(labels: Any) -> Array:
    return read_labels(Path(labels)) if isinstance(labels, str | os.PathLike) else as_vector(labels)


def _only_given(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {option: value for option, value in columns.items() if value is not None}


def _refuse_columns(columns: Mapping[str, Any], *, name: str) -> None:
    for option in _only_given(columns):
        raise InvalidOption(
            f"{name}: --{option.replace('_', '-')} is for tables ({', '.join(_TABLES)}, data frames), not arrays"
        )


def _refuse_foreign_folder(path: Path, name: str) -> None:
    try:
        if is_saved_dataset(path):
            return
        inside = [*path.glob("*"), *path.glob("*/*")]
    except OSError as error:
        raise InvalidData(f"the folder {name} cannot be read: {error.strerror}; check its permissions") from None
    if any(file.suffix.lower() in _IMAGES for file in inside):
        raise InvalidData(
            f"{name} is a folder of images, which is not a supported source of features; embed the images first "
            "and give the features as .npz (a later release embeds images itself)"
        )
    raise InvalidData(f"{name} is a folder, but no saved data set; supported are {_SUPPORTED}")
