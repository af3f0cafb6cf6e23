"""`open_source`: one function for every kind of data, driven by tables of readers.

A new format is one file and one line: a function in `ARRAY_FILES`, a `Table` in `TABLE_FILES`, a pair in `FOLDERS`,
a function in `layouts.registry.LAYOUTS` or one in `layouts.bundled.DATASETS`.
"""

import difflib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.publication import check_shards, finish_publication
from eigenclean.sources.annotated import has_annotators, open_annotated, split_annotations
from eigenclean.sources.annotation_exports import is_annotation_export, open_annotation_export
from eigenclean.sources.arrays.mapped import map_array
from eigenclean.sources.arrays.numpy_files import open_npy, open_npz
from eigenclean.sources.base import Source
from eigenclean.sources.from_arrays import load_labels, open_arrays
from eigenclean.sources.images.folder import is_image_folder, open_image_folder
from eigenclean.sources.images.sampling import may_hold_images, refuse_whole_disk
from eigenclean.sources.images.source import choose_split
from eigenclean.sources.layouts.bundled import DATASETS
from eigenclean.sources.layouts.registry import LAYOUTS, is_layout, open_layout
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.arrow import ArrowTable
from eigenclean.sources.tabular.columns import ColumnOptions
from eigenclean.sources.tabular.delimited import CsvTable
from eigenclean.sources.tabular.excel import ExcelTable
from eigenclean.sources.tabular.frames import FrameTable, is_frame
from eigenclean.sources.tabular.hf import HuggingFaceTable, is_saved_dataset
from eigenclean.sources.tabular.hf_objects import dataset_table, is_dataset
from eigenclean.sources.tabular.joined import JoinedTable
from eigenclean.sources.tabular.json_records import JsonTable
from eigenclean.sources.tabular.parquet import ParquetTable
from eigenclean.sources.tabular.shards import ShardedSource, file_kind, shard_files
from eigenclean.sources.tabular.source import open_table
from eigenclean.sources.tabular.table import Table

ONE_PASS_BYTES = 1 << 28  # files up to this size may be parsed in one pass that keeps the features in memory


class _OpenArrayFile(Protocol):
    def __call__(self, path: Path, /, *, name: str, labels: Array | None, need_features: bool) -> Source: ...


class _OpenTableFile(Protocol):
    def __call__(self, path: Path, /, *, name: str) -> Table: ...


ARRAY_FILES: dict[str, _OpenArrayFile] = {".npz": open_npz, ".npy": open_npy}
TABLE_FILES: dict[str, _OpenTableFile] = {
    ".parquet": ParquetTable,
    ".arrow": ArrowTable,
    ".feather": ArrowTable,
    ".ipc": ArrowTable,
    ".csv": CsvTable,
    ".tsv": CsvTable,
    ".csv.gz": CsvTable,
    ".tsv.gz": CsvTable,
    ".jsonl": JsonTable,
    ".jsonl.gz": JsonTable,
    ".json": JsonTable,
    ".json.gz": JsonTable,
    ".xlsx": ExcelTable,
}
_FILES = (*ARRAY_FILES, *TABLE_FILES)
# In a folder of shards, a .json file is a record of somebody; .jsonl files may be either.
_SHARDS = tuple(suffix for suffix in _FILES if not suffix.startswith(".json"))
_LINES = (".jsonl", ".jsonl.gz")
_UNPACKED = 10  # times the size of a compressed file
_SUPPORTED = (
    f"{', '.join(_FILES)} files and folders of them, saved Hugging Face data set folders, folders of "
    f"class folders of images, and data sets by name ({', '.join(f'{layout}:PATH' for layout in LAYOUTS)})"
)


@dataclass(frozen=True, eq=False)
class _Request:
    """A path to open, and what the caller said about it.

    Attributes:
        path: file or folder.
        name: the path as the user wrote it, for messages.
        labels: labels that replace those of the source, or None.
        options: what was said about the columns of a table.
        split: which part of the data set, or None for the default.
        follow_links: links in a folder may lead out of it.
    """

    path: Path
    name: str
    labels: Array | None
    options: ColumnOptions
    split: str | None
    follow_links: bool = False


def open_source(
    source: Any,
    *,
    labels: Any = None,
    label_column: str | None = None,
    feature_columns: str | Sequence[str] | None = None,
    category_columns: str | Sequence[str] | None = None,
    leave_out: str | Sequence[str] | None = None,
    id_column: str | None = None,
    text_column: str | None = None,
    image_column: str | None = None,
    image_root: str | os.PathLike[str] | None = None,
    raw: bool = False,
    split: str | None = None,
    follow_links: bool = False,
    need_features: bool = True,
    annotator_columns: str | Sequence[str] | None = None,
    annotator_column: str | None = None,
    group_column: str | None = None,
) -> Source:
    """Open rows with features (or images, or texts) and labels, wherever they are.

    Args:
        source: a path (``.npz``, ``.npy``, ``.parquet``, ``.arrow``, ``.feather``, ``.ipc``, ``.csv``, ``.tsv``,
            ``.jsonl``, ``.json``, the last four also with ``.gz``, ``.xlsx``, the folder of a saved Hugging Face
            data set, a folder of class folders of images), a data set in its original layout ("cifar10:PATH", or
            with options "folder:PATH?resize=64"), the name of a bundled data set ("digits"), a folder of such files
            as shards, a data frame of any library, a ``Dataset`` or ``DatasetDict`` of Hugging Face, a data set of
            pairs ``(input, label)`` as PyTorch has them, a pair ``(features, labels)``, or a dict of arrays
            ``features``, ``images`` or ``texts``, ``labels`` and perhaps ``ids``.
        labels: labels that are not in the source: an array, or a ``.npy``, ``.txt`` or ``.csv`` file, or a folder
            of them; or rows x annotators, with missing entries as `eigenclean.evidence.Annotations` takes them.
        label_column: column of the labels in a table; by default "label" or a similar name.
        feature_columns: columns of the features, or patterns such as "f*"; by default the only column of lists of
            numbers, else all columns of numbers, categories, dates and truth values that say something.
        category_columns: columns whose values are names, even if they are numbers; or patterns.
        leave_out: columns that are not to be features; or patterns.
        id_column: column of unique row ids; by default "id" or "ids" if there is one.
        text_column: column of texts to embed, beside the other columns; with an embedding in the table, to show.
        image_column: column of images to embed: paths, encoded bytes, or both as Hugging Face stores them.
        image_root: folder that paths of images are relative to and stay in; by default that of the table.
        raw: prefer images and texts to numeric columns that were not named.
        split: which split of a data set that has several, such as "test"; by default "train".
        follow_links: in a folder of data, follow symbolic links that lead out of it; by default images behind such
            links are left out and listed in ``skipped_links``, and other files are an error.
        need_features: False if labels alone are enough, for those who have predicted probabilities.
        annotator_columns: columns, or patterns such as "rater_*", of labels by one annotator each; the labels of
            the source are the majority's, and ``annotations`` has all.
        annotator_column: column that names the annotator, in a table with one row per label and an id column.
        group_column: column that says which rows belong together: a scene, a patient, a user.

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
    options = ColumnOptions(
        label_column=label_column,
        feature_columns=feature_columns,
        category_columns=category_columns,
        leave_out=leave_out,
        id_column=id_column,
        text_column=text_column,
        image_column=image_column,
        image_root=None if image_root is None else Path(image_root),
        prefer_raw=raw,
        follow_links=follow_links,
        need_features=need_features,
        annotator_columns=annotator_columns,
        annotator_column=annotator_column,
        group_column=group_column,
    )
    if labels is not None and has_annotators(options):
        raise InvalidOption("the labels are those of the annotators' columns: leave out --labels")
    annotations, given = (None, None) if labels is None else split_annotations(load_labels(labels))
    if isinstance(source, str | os.PathLike):
        opened = _open_path(_Request(Path(source), os.fspath(source), given, options, split, follow_links))
    elif is_dataset(source):
        opened = _open_table(dataset_table(source, split=split), options, labels=given)
    else:
        _refuse_split(split, name="arrays and frames")
        if is_frame(source):
            opened = _open_table(FrameTable(source), options, labels=given)
        else:
            _refuse_columns(options, name="arrays")
            opened = open_arrays(source, given, need_features=need_features)
    opened.annotations = opened.annotations if annotations is None else annotations
    return opened


def _open_path(request: _Request) -> Source:
    path, name = request.path, request.name
    if os.path.isdir(path):  # unlike Path.is_dir, never an error
        return _folder_reader(request)(request)
    exists = os.path.exists(path)
    if not exists and is_layout(name):
        _refuse_columns(request.options, name=name)
        source = open_layout(name, split=request.split, follow_links=request.follow_links)
        return source if request.labels is None else source.relabelled(request.labels)
    _refuse_split(request.split, name=name)
    if exists:
        return _open_file(request, one_pass=_total_bytes([path]) <= ONE_PASS_BYTES)
    if name in DATASETS:
        _refuse_columns(request.options, name=name)
        return DATASETS[name]()
    near = difflib.get_close_matches(name.partition(":")[0], LAYOUTS, n=1) if ":" in name else []
    hint = f", or did you mean {near[0]}:PATH?" if near else ""
    raise InvalidData(f"there is no file or folder {name}; check the path{hint}")


def _open_file(request: _Request, *, one_pass: bool) -> Source:
    """A file of arrays or a table; ``one_pass`` allows a table to keep its features when it reads the labels."""
    path, name, suffix = request.path, request.name, file_kind(request.path)
    if suffix in ARRAY_FILES:
        _refuse_columns(request.options, name=name)
        need_features = request.options.need_features
        source = ARRAY_FILES[suffix](path, name=name, labels=request.labels, need_features=need_features)
    elif suffix in TABLE_FILES:
        options = _with_image_root(request.options, path.parent)
        table = TABLE_FILES[suffix](path, name=name)
        source = _open_table(table, options, labels=request.labels, one_pass=one_pass)
    else:
        raise InvalidData(f"{name} is not a supported source: expected {_SUPPORTED}, got {suffix or 'no suffix'!r}")
    source.files = [path]
    return source


# --- Folders ------------------------------------------------------------------------------------------------------


def _open_saved_dataset(request: _Request) -> Source:
    _refuse_split(request.split, name=request.name)
    table = HuggingFaceTable(request.path, name=request.name, follow_links=request.follow_links)
    source = _open_table(table, _with_image_root(request.options, request.path), labels=request.labels)
    source.files = table.paths
    return source


def _open_image_folder(request: _Request) -> Source:
    _refuse_columns(request.options, name=request.name)
    return open_image_folder(
        request.path,
        name=request.name,
        split=request.split,
        labels=request.labels,
        follow_links=request.follow_links,
    )


def _open_shards(request: _Request) -> Source:
    """The files of the folder one after the other; separate labels are for the rows of all of them."""
    _refuse_split(request.split, name=request.name)
    files = shard_files(request.path, _SHARDS, follow_links=request.follow_links)
    files = files or shard_files(request.path, _LINES, follow_links=request.follow_links)
    check_shards(request.path, [file.name for file in files])
    one_pass = _total_bytes(files) <= ONE_PASS_BYTES
    if has_annotators(request.options) or request.options.group_column is not None:
        return _open_joined(request, files, one_pass=one_pass)
    shards: list[Source] = []
    start = 0
    for file in files:
        shard = _Request(file, str(Path(request.name) / file.name), None, request.options, None)
        if request.labels is not None:
            stop = start + _count_rows(shard)
            if stop > len(request.labels):
                raise InvalidData(
                    f"{request.name}: features and labels must have equal length, got {len(request.labels)} "
                    f"labels, which end within {shard.name}"
                )
            shard = replace(shard, labels=request.labels[start:stop])
            start = stop
        shards.append(_open_file(shard, one_pass=one_pass))
        if shards[-1].found_label:  # the same column in all of them
            request = replace(request, options=replace(request.options, label_column=shards[-1].label_column))
        if shards[-1].encoding is not None:
            source = _open_joined(request, files, one_pass=one_pass)
            break
    else:
        source = ShardedSource(request.name, shards, labels=request.labels)
    source.found_label, source.label_column = shards[0].found_label, shards[0].label_column
    return source


def _open_joined(request: _Request, files: Sequence[Path], *, one_pass: bool) -> Source:
    """Files with columns of several kinds as one table: what a column is can be told from all rows only."""
    names = [str(Path(request.name) / file.name) for file in files]
    tables = [TABLE_FILES[file_kind(file)](file, name=name) for file, name in zip(files, names, strict=True)]
    options = _with_image_root(request.options, request.path)
    joined = JoinedTable(tables, name=request.name)
    source = _open_table(joined, options, labels=request.labels, one_pass=one_pass)
    source.files = files
    return source


def _has_shards(folder: Path) -> bool:
    return bool(shard_files(folder, _SHARDS) or shard_files(folder, _LINES))


FOLDERS: Sequence[tuple[Callable[[Path], bool], Callable[[_Request], Source]]] = (
    (is_saved_dataset, _open_saved_dataset),
    (lambda folder: may_hold_images(folder) and is_image_folder(folder), _open_image_folder),
    (_has_shards, _open_shards),
)  # the first that recognises the folder opens it


def _folder_reader(request: _Request) -> Callable[[_Request], Source]:
    refuse_whole_disk(request.path, name=request.name)
    finish_publication(request.path)
    try:
        for recognises, read in FOLDERS:
            if recognises(request.path):
                return read
    except OSError as error:
        raise InvalidData(
            f"the folder {request.name} cannot be read: {error.strerror}; check its permissions"
        ) from None
    raise InvalidData(
        f"{request.name} is a folder, but no saved data set and no class folders of images, and it has no shards; "
        f"supported are {_SUPPORTED}"
    )


def _count_rows(shard: _Request) -> int:
    suffix = file_kind(shard.path)
    if suffix in TABLE_FILES:
        return TABLE_FILES[suffix](shard.path, name=shard.name).count()
    if suffix == ".npz":
        raise InvalidOption(f"{shard.name}: .npz shards have their own labels; leave --labels out")
    with explain_read_errors(shard.name, ".npy file"):
        return len(map_array(shard.path, name=shard.name))


def _total_bytes(files: Sequence[Path]) -> int:
    return sum(os.path.getsize(file) * (_UNPACKED if file.suffix.lower() == ".gz" else 1) for file in files)


# --- Tables --------------------------------------------------------------------------------------------


def _open_table(table: Table, options: ColumnOptions, *, labels: Array | None, one_pass: bool = False) -> Source:
    if has_annotators(options):
        return open_annotated(table, options)
    if labels is None and is_annotation_export(table):
        return open_annotation_export(table, options)
    return open_table(table, options, labels=labels, one_pass=one_pass)


def _with_image_root(options: ColumnOptions, default: Path) -> ColumnOptions:
    return replace(options, image_root=default if options.image_root is None else options.image_root)


def _refuse_columns(options: ColumnOptions, *, name: str) -> None:
    for option in options.set_options():
        flag = f"--{option.replace('_', '-')}"
        raise InvalidOption(f"{name}: {flag} is for tables ({', '.join(TABLE_FILES)}, data frames), not arrays")


def _refuse_split(split: str | None, *, name: str) -> None:
    if split is not None:
        choose_split(split, [], by=name)
