"""Rows to predict: the same sources as for training, but labels may be missing."""

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.paths import is_inside
from eigenclean.sources.arrays.mapped import map_array
from eigenclean.sources.arrays.memory import MemorySource
from eigenclean.sources.arrays.numpy_files import read_members
from eigenclean.sources.base import Source
from eigenclean.sources.images.files import SUFFIXES, ImageFiles
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.opening import TABLE_FILES, open_source
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.columns import ID_NAMES, LABEL_NAMES
from eigenclean.sources.tabular.shards import file_kind
from eigenclean.sources.tabular.source import TableSource
from eigenclean.tables import TableEncoding

_CHUNK_ROWS = 65_536


def open_unlabelled(source: str, *, encoding: TableEncoding | None = None, **options: Any) -> Source:
    """Open rows whose labels do not matter and may be missing; ``options`` are those of `open_source`.

    Args:
        source: as for `open_source`; also a folder with images and no class folders.
        encoding: how the columns of a table become features, if it is a table.
        **options: see `open_source`.
    """
    path = Path(source)
    is_file = os.path.isfile(path)
    kind = file_kind(path) if is_file else ""
    if encoding is not None and kind in TABLE_FILES and options.get("text_column") is None:
        return _encoded_rows(path, source, encoding, options.get("id_column"))
    if os.path.isdir(path) and (names := _loose_images(path, follow_links=bool(options.get("follow_links")))):
        images = ImageFiles(path, np.array(names), boundary=path, follow_links=bool(options.get("follow_links")))
        return ImageSource(source, images, np.zeros(len(names), dtype=np.int64), ids=np.array(names))
    if is_file and options.get("label_column") is None:
        options["labels"] = _placeholders(path, source, kind)
    opened = open_source(source, **options)
    if encoding is not None and isinstance(opened, TableSource):
        return opened.encoded_by(encoding)
    return opened


def _encoded_rows(path: Path, name: str, encoding: TableEncoding, id_column: str | None) -> Source:
    """The columns that the encoding knows, as features: other columns, and labels, need not be there."""
    table = TABLE_FILES[file_kind(path)](path, name=name)
    known = set(table.schema.names)
    absent = [column for column in encoding.columns if column not in known]
    if absent:
        raise InvalidData(f"{name} has no column {absent[0]!r}, which the model was trained on; add it")
    if id_column is not None and id_column not in known:
        raise InvalidData(f"{name} has no column {id_column!r}; choose the ids with --id-column")
    blocks = [encoding.transform(batch, by=name) for batch in table.stream(encoding.columns, _CHUNK_ROWS)]
    if not blocks:
        raise InvalidData(f"{name} has no rows")
    features = np.concatenate(blocks)
    chosen = id_column or next((each for each in ID_NAMES if each in known - {*encoding.columns}), None)
    ids = None if chosen is None else np.asarray(table.read([chosen]).column(chosen).to_pylist())
    return MemorySource(name, features, np.zeros(len(features), dtype=np.int64), ids=ids)


def _placeholders(path: Path, name: str, kind: str) -> Array | None:
    """A label for each row of a file that has none; None for a file with labels of its own."""
    if kind in TABLE_FILES:
        table = TABLE_FILES[kind](path, name=name)
        return None if set(LABEL_NAMES) & set(table.schema.names) else np.zeros(table.count(), dtype=np.int64)
    if kind == ".npy":
        with explain_read_errors(name, ".npy file"):
            return np.zeros(len(map_array(path, name=name)), dtype=np.int64)
    if kind == ".npz":
        with explain_read_errors(name, ".npz archive"), zipfile.ZipFile(path) as archive:
            arrays = read_members(path, archive, ("labels", "features", "images", "texts"), name=name)
        if "labels" not in arrays and arrays:
            return np.zeros(len(next(iter(arrays.values()))), dtype=np.int64)
    return None


def _loose_images(folder: Path, *, follow_links: bool) -> list[str]:
    """Names of the images directly in the folder; links that lead out of it do not count."""
    with os.scandir(folder) as entries:
        names = sorted(
            entry.name
            for entry in entries
            if os.path.splitext(entry.name)[1].lower() in SUFFIXES and not entry.name.startswith(".")
        )
    return [name for name in names if follow_links or is_inside(folder, folder / name)]
