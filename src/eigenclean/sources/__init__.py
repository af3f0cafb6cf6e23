"""Where rows come from: files, folders, data frames and arrays, all opened by one function."""

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.sources.arrays.mapped import map_array
from eigenclean.sources.arrays.memory import MemorySource, check_texts
from eigenclean.sources.arrays.npy import open_npy, read_labels
from eigenclean.sources.arrays.npz import open_npz
from eigenclean.sources.base import Source
from eigenclean.sources.images.folder import is_image_folder, open_folder
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.layouts.bundled import DATASETS
from eigenclean.sources.layouts.registry import LAYOUTS, is_named, open_named
from eigenclean.sources.layouts.splits import choose_split
from eigenclean.sources.raw import TextSource
from eigenclean.sources.reading import reading
from eigenclean.sources.tabular.arrow import IpcRows
from eigenclean.sources.tabular.delimited import CsvRows
from eigenclean.sources.tabular.frames import FrameRows, as_matrix, as_vector, is_frame
from eigenclean.sources.tabular.hf import HfRows, is_saved_dataset
from eigenclean.sources.tabular.parquet import ParquetRows
from eigenclean.sources.tabular.shards import ShardedSource, shard_files
from eigenclean.sources.tabular.table import Rows, open_table

__all__ = ["Source", "as_matrix", "as_vector", "open_source"]

_ARRAYS: dict[str, Callable[..., Source]] = {".npz": open_npz, ".npy": open_npy}
_TABLES: dict[str, Callable[..., Rows]] = {
    ".parquet": ParquetRows,
    ".arrow": lambda path, name: IpcRows([path], name=name),
    ".feather": lambda path, name: IpcRows([path], name=name),
    ".ipc": lambda path, name: IpcRows([path], name=name),
    ".csv": CsvRows,
    ".tsv": CsvRows,
}
_SUPPORTED = (
    f"{', '.join([*_ARRAYS, *_TABLES])} files and folders of them, saved Hugging Face data set folders, folders of "
    f"class folders of images, and data sets by name ({', '.join(f'{layout}:PATH' for layout in LAYOUTS)})"
)
_PARTS = ("features", "labels", "ids", "images", "texts")


def open_source(
    source: Any,
    *,
    labels: Any = None,
    label_column: str | None = None,
    feature_columns: str | Sequence[str] | None = None,
    id_column: str | None = None,
    text_column: str | None = None,
    image_column: str | None = None,
    image_root: str | os.PathLike[str] | None = None,
    raw: bool = False,
    split: str | None = None,
) -> Source:
    """Open rows with features (or images, or texts) and labels, wherever they are.

    Args:
        source: a path (``.npz``, ``.npy``, ``.parquet``, ``.arrow``, ``.feather``, ``.ipc``, ``.csv``, ``.tsv``,
            the folder of a saved Hugging Face data set, a folder of class folders of images), a data set in its
            original layout ("cifar10:PATH", or with options "folder:PATH?resize=64"), the name of a bundled data
            set ("digits"), a folder of such files as shards, a data frame of any library, a pair
            ``(features, labels)``, or a dict of arrays ``features``, ``images`` or ``texts``, ``labels`` and
            perhaps ``ids``.
        labels: labels that are not in the source: an array, or a ``.npy``, ``.txt`` or ``.csv`` file, or a folder
            of them.
        label_column: column of the labels in a table; by default "label" or a similar name.
        feature_columns: columns of the features, or patterns such as "f*"; by default the only column of lists of
            numbers, else all columns of numbers that are not labels or ids.
        id_column: column of unique row ids; by default "id" or "ids" if there is one.
        text_column: column of texts to show; to embed, when the table has no features.
        image_column: column of images to embed: paths, encoded bytes, or both as Hugging Face stores them.
        image_root: folder that paths of images are relative to and stay in; by default that of the table.
        raw: prefer images and texts to numbers that nobody named.
        split: which part of a data set that comes in parts, such as "test"; by default "train".

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
        "image_column": image_column,
        "image_root": None if image_root is None else Path(image_root),
    }
    given = None if labels is None else _given_labels(labels)
    if isinstance(source, str | os.PathLike):
        return _open_path(Path(source), os.fspath(source), given, columns, split, raw=raw)
    _refuse_split(split, name="arrays and frames")
    if is_frame(source):
        return open_table(FrameRows(source), labels=given, raw=raw, **_only_given(columns))
    _refuse_columns(columns, name="arrays")
    return _open_arrays(source, given)


def _open_path(
    path: Path, name: str, labels: Array | None, columns: Mapping[str, Any], split: str | None, *, raw: bool
) -> Source:
    suffix = path.suffix.lower()
    options = {"image_root": path if os.path.isdir(path) else path.parent, "raw": raw, **_only_given(columns)}
    if os.path.isdir(path):  # unlike Path.is_dir, never an error
        kind = _kind_of_folder(path, name)
        if kind == "images":
            _refuse_columns(columns, name=name)
            return open_folder(path, name=name, split=split, labels=labels)
        _refuse_split(split, name=name)
        if kind == "shards":
            return _open_shards(path, name, labels, columns, options)
        rows = HfRows(path, name=name)
        return _from_files(open_table(rows, labels=labels, **options), rows.paths)
    if is_named(name) and not os.path.exists(path):
        _refuse_columns(columns, name=name)
        return _relabelled(open_named(name, split=split), labels)
    _refuse_split(split, name=name)
    if not os.path.exists(path):
        if name in DATASETS:
            _refuse_columns(columns, name=name)
            return DATASETS[name]()
        near = difflib.get_close_matches(name.partition(":")[0], LAYOUTS, n=1) if ":" in name else []
        hint = f", or did you mean {near[0]}:PATH?" if near else ""
        raise InvalidData(f"there is no file or folder {name}; check the path{hint}")
    if suffix in _ARRAYS or suffix in _TABLES:
        return _open_file(path, name, labels, columns, options)
    raise InvalidData(f"{name} is not a supported source: expected {_SUPPORTED}, got {suffix or 'no suffix'!r}")


def _open_file(
    path: Path, name: str, labels: Array | None, columns: Mapping[str, Any], options: Mapping[str, Any]
) -> Source:
    suffix = path.suffix.lower()
    if suffix in _ARRAYS:
        _refuse_columns(columns, name=name)
        return _from_files(_ARRAYS[suffix](path, name=name, labels=labels), [path])
    rows = _TABLES[suffix](path, name=name)
    return _from_files(open_table(rows, labels=labels, **options), [path])


def _open_shards(
    folder: Path, name: str, labels: Array | None, columns: Mapping[str, Any], options: Mapping[str, Any]
) -> Source:
    files = shard_files(folder, [*_ARRAYS, *_TABLES])
    taken = 0

    def opened(path: Path) -> Source:
        nonlocal taken
        shard_name = str(Path(name) / path.name)
        if labels is None:
            return _open_file(path, shard_name, None, columns, options)
        n = _n_rows(path, shard_name)
        own = labels[taken : taken + n]
        if len(own) < n:
            raise InvalidData(
                f"{name}: features and labels must have equal length, got {len(labels)} labels, which end within "
                f"{shard_name}"
            )
        taken += n
        return _open_file(path, shard_name, own, columns, options)

    return ShardedSource(name, [opened(path) for path in files], labels=labels)


def _n_rows(path: Path, name: str) -> int:
    suffix = path.suffix.lower()
    if suffix in _TABLES:
        return _TABLES[suffix](path, name=name).count()
    if suffix == ".npz":
        raise InvalidOption(f"{name}: .npz shards have their own labels; leave --labels out")
    with reading(name, ".npy file"):
        return len(map_array(path, name=name))


def _from_files(source: Source, files: Sequence[Path]) -> Source:
    source.files = files
    return source


def _relabelled(source: ImageSource, labels: Array | None) -> ImageSource:
    if labels is None:
        return source
    return ImageSource(source.name, source.images, labels, ids=source.ids, splits=source.splits)


def _open_arrays(source: Any, labels: Array | None) -> Source:
    if isinstance(source, Mapping):
        arrays = dict(source)
    elif isinstance(source, tuple) and len(source) == 2:
        arrays = dict(zip(("features", "labels"), source, strict=True))
    else:
        arrays = {"features": source}
    unknown = [key for key in arrays if key not in _PARTS]
    if unknown or all(arrays.get(part) is None for part in ("features", "images", "texts")):
        raise InvalidData(
            f"arrays: a dict must have 'features', 'images' or 'texts' and may have 'labels' and 'ids', "
            f"got {', '.join(map(repr, arrays)) or 'nothing'}"
        )
    if labels is None and arrays.get("labels") is None:
        raise InvalidData("arrays: there are no labels; give a pair (features, labels), or labels=...")
    others = {key: as_vector(arrays[key]) for key in _PARTS[2:] if arrays.get(key) is not None}
    given = as_vector(arrays["labels"]) if labels is None else labels
    if arrays.get("features") is None and "images" not in others:
        found = check_texts(others["texts"], len(others["texts"]), by="arrays")
        return TextSource("arrays", found, given, ids=others.get("ids"))
    if arrays.get("features") is None:
        return ImageSource("arrays", others["images"], given, ids=others.get("ids"), texts=others.get("texts"))
    return MemorySource("arrays", as_matrix(arrays["features"]), given, **others)


def _given_labels(labels: Any) -> Array:
    if not isinstance(labels, str | os.PathLike):
        return as_vector(labels)
    path = Path(labels)
    if not os.path.isdir(path):
        return read_labels(path)
    parts = [read_labels(file) for file in shard_files(path, [".npy", ".txt", ".csv"])]
    if not parts:
        raise InvalidData(f"the folder {path} has no label files (.npy, .txt or .csv)")
    return np.concatenate(parts)


def _only_given(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {option: value for option, value in columns.items() if value is not None}


def _refuse_columns(columns: Mapping[str, Any], *, name: str) -> None:
    for option in _only_given(columns):
        raise InvalidOption(
            f"{name}: --{option.replace('_', '-')} is for tables ({', '.join(_TABLES)}, data frames), not arrays"
        )


def _refuse_split(split: str | None, *, name: str) -> None:
    if split is not None:
        choose_split(split, [], by=name)


def _kind_of_folder(path: Path, name: str) -> str:
    try:
        if is_saved_dataset(path):
            return "saved"
        if is_image_folder(path):
            return "images"
        if shard_files(path, [*_ARRAYS, *_TABLES]):
            return "shards"
    except OSError as error:
        raise InvalidData(f"the folder {name} cannot be read: {error.strerror}; check its permissions") from None
    raise InvalidData(
        f"{name} is a folder, but no saved data set and no class folders of images, and it has no shards; "
        f"supported are {_SUPPORTED}"
    )
