"""Predicted probabilities from an array, a data frame or a file."""

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, preview
from eigenclean.errors import InvalidData
from eigenclean.sources.arrays.mapped import map_array
from eigenclean.sources.arrays.numpy_files import read_members
from eigenclean.sources.opening import TABLE_FILES
from eigenclean.sources.predictions.matching import PredictedProbabilities
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.column_arrays import blocks, stack, vector
from eigenclean.sources.tabular.columns import ID_NAMES, are_features, index_columns, is_list, storage
from eigenclean.sources.tabular.frames import FrameTable, as_matrix, is_frame
from eigenclean.sources.tabular.shards import file_kind
from eigenclean.sources.tabular.table import Table

ARRAY_NAMES = ("pred_probs", "probabilities")  # of an .npz archive
_CHUNK_ROWS = 1 << 16


def read_probabilities(source: Any, *, id_column: str | None = None) -> PredictedProbabilities:
    """Probabilities of classes, rows x columns.

    Args:
        source: an array, a data frame, or a file: ``.npy``; ``.npz`` with an array ``pred_probs``, perhaps with
            ``ids`` and with ``classes`` that name the columns; or a table whose columns are named as the classes.
        id_column: column of ids in a table; by default "id" or "ids" if there is one.

    >>> read_probabilities([[0.9, 0.1]]).values
    array([[0.9, 0.1]])
    """
    if isinstance(source, str | os.PathLike):
        return _from_file(Path(source), id_column)
    if is_frame(source):
        return _from_table(FrameTable(source, name="pred_probs"), id_column)
    return PredictedProbabilities(as_matrix(source))


def _from_file(path: Path, id_column: str | None) -> PredictedProbabilities:
    name, suffix = str(path), file_kind(path)
    if not os.path.exists(path):
        raise InvalidData(f"there is no file {name} of probabilities; check the path")
    if suffix == ".npy":
        with explain_read_errors(name, ".npy file"):
            return PredictedProbabilities(map_array(path, name=name), name)
    if suffix == ".npz":
        return _from_archive(path, name)
    if suffix in TABLE_FILES:
        return _from_table(TABLE_FILES[suffix](path, name=name), id_column)
    raise InvalidData(
        f"{name}: probabilities are read from .npy, .npz and {', '.join(TABLE_FILES)} files, "
        f"got {suffix or 'no suffix'!r}"
    )


def _from_archive(path: Path, name: str) -> PredictedProbabilities:
    with explain_read_errors(name, ".npz archive"), zipfile.ZipFile(path) as archive:
        arrays = read_members(path, archive, (*ARRAY_NAMES, "classes", "ids"), name=name)
        members = sorted(info.filename.removesuffix(".npy") for info in archive.infolist())
    values = next((arrays[key] for key in ARRAY_NAMES if key in arrays), None)
    if values is None:
        raise InvalidData(
            f"{name} has no array {ARRAY_NAMES[0]!r}; its arrays are {preview(np.array(members, dtype=np.str_))}"
        )
    columns = None
    if "classes" in arrays:
        columns = [str(label) for label in np.asarray(arrays["classes"]).ravel().tolist()]
        if values.ndim == 2 and len(columns) != values.shape[1]:
            raise InvalidData(f"{name} has {len(columns)} classes for {values.shape[1]} columns of probabilities")
    return PredictedProbabilities(values, name, columns, _checked_ids(arrays.get("ids"), values, name))


def _from_table(table: Table, id_column: str | None) -> PredictedProbabilities:
    schema = table.schema
    id_name = next((column for column in (id_column, *ID_NAMES) if column in schema.names), None)
    excluded = index_columns(schema) | {id_name}
    fields = [field for field in schema if field.name not in excluded and are_features(field.type)]
    lists = [field.name for field in fields if is_list(storage(field.type))]
    names = lists[:1] or [field.name for field in fields]
    if not names:
        available = preview(np.array(schema.names, dtype=np.str_))
        raise InvalidData(f"{table.name} has no column of numbers; its columns are {available}")
    columns: Sequence[str] | None = None if lists else names
    values = stack(
        blocks(lambda: table.stream(names, _CHUNK_ROWS), by=table.name, what="probabilities"), table.count()
    )
    if not len(values):
        raise InvalidData(f"{table.name} has no rows")
    ids = None if id_name is None else vector(table.read([id_name]).column(id_name), by=table.name, what="ids")
    return PredictedProbabilities(values, table.name, columns, _checked_ids(ids, values, table.name))


def _checked_ids(ids: Array | None, values: Array, name: str) -> Array | None:
    if ids is None:
        return None
    if ids.ndim != 1 or len(ids) != len(values) or ids.dtype.kind not in "iubUS":
        raise InvalidData(f"{name}: ids must be one integer or text for each of the {len(values)} rows")
    return np.char.decode(ids, "utf-8") if ids.dtype.kind == "S" else np.asarray(ids)
