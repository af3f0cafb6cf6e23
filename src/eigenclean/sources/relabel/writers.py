"""Which writer a source needs for its labels; files and folders are replaced whole or not at all.

A new format is one file and one line: a function in `LABEL_WRITERS` for labels in a file of their own, or in
`COLUMN_WRITERS` for labels in a column.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv

from eigenclean.arrays import Array
from eigenclean.errors import InvalidOption
from eigenclean.files import parse_json, replacing, sync_file, temporary_beside, write_json
from eigenclean.sources.base import Source
from eigenclean.sources.relabel.arrays import relabel_npy, relabel_npz
from eigenclean.sources.relabel.delimited import relabel_csv, relabel_label_csv, relabel_lines
from eigenclean.sources.relabel.excel import relabel_excel
from eigenclean.sources.relabel.ipc import relabel_arrow, relabel_ipc
from eigenclean.sources.relabel.json_records import relabel_json
from eigenclean.sources.relabel.parquet import relabel_parquet
from eigenclean.sources.relabel.update import LabelUpdate, UndoLog, undo_log_path
from eigenclean.sources.tabular.arrow import ArrowTable
from eigenclean.sources.tabular.delimited import CsvTable
from eigenclean.sources.tabular.excel import ExcelTable
from eigenclean.sources.tabular.hf import STATE, HuggingFaceTable
from eigenclean.sources.tabular.json_records import JsonTable
from eigenclean.sources.tabular.parquet import ParquetTable
from eigenclean.sources.tabular.table import Table

LabelWriter = Callable[[Path, Path, LabelUpdate, UndoLog], None]


class _ColumnWriter(Protocol):
    """Writes a copy of the file of a table with new labels in one column."""

    def __call__(
        self, path: Path, out: Path, update: LabelUpdate, undo_log: UndoLog, /, *, table: Table, column: str
    ) -> None: ...


LABEL_WRITERS: Mapping[str, LabelWriter] = {
    ".npz": relabel_npz,
    ".npy": relabel_npy,
    ".txt": relabel_lines,
    ".csv": relabel_label_csv,
}
COLUMN_WRITERS: Mapping[type[Table], _ColumnWriter] = {
    CsvTable: relabel_csv,
    ParquetTable: relabel_parquet,
    ArrowTable: relabel_arrow,
    JsonTable: relabel_json,
    ExcelTable: relabel_excel,
}
_MAX_FINGERPRINT = 64  # characters that Hugging Face accepts


def label_writer(source: Source, path: Path) -> LabelWriter | None:
    """The function that rewrites the labels in the file ``path`` of the source; None when there is none."""
    if source.table is None or source.label_column is None:
        return LABEL_WRITERS.get(path.suffix.lower())
    write = COLUMN_WRITERS.get(type(source.table))  # not for subclasses: a saved data set has several files
    return None if write is None else partial(write, table=source.table, column=source.label_column)


def write_file(write: LabelWriter, path: Path, out: Path, update: LabelUpdate) -> None:
    """Write ``out``, which may be ``path`` itself, whole or not at all."""
    undo_log, log_path = UndoLog.load(path), undo_log_path(out)
    mode, had_log = path.stat().st_mode, log_path.exists()
    try:
        with replacing(out) as temporary:
            write(path, temporary, update, undo_log)
            sync_file(temporary)  # a full disk is noticed here, before the log is written
            undo_log.save(out, ahead_of_data=True)
    except InvalidOption:
        if not had_log:
            log_path.unlink(missing_ok=True)
        raise
    out.chmod(mode)
    with suppress(InvalidOption):  # the log as it is serves as well: it has entries that are no longer needed
        undo_log.save(out)


def write_labels(out: Path, labels: Array) -> None:
    """The labels alone, in row order, for ``--labels``."""
    with replacing(out) as temporary, open(temporary, "wb") as file:
        np.save(file, labels, allow_pickle=False)


def write_manifest(out: Path, ids: Array, labels: Array) -> None:
    """A CSV file of ``file,label`` for all samples."""
    with replacing(out) as temporary:
        pyarrow.csv.write_csv(pa.table({"file": pa.array(ids), "label": pa.array(labels)}), str(temporary))


def write_saved_dataset(
    source: Source, folder: Path, out: Path, update: LabelUpdate, suffix: str, *, revert: bool
) -> None:
    """Rewrite the Arrow files of a saved Hugging Face data set, in place or in a copy of the folder.

    ``suffix`` is appended to its fingerprint, or removed from it: the ``datasets`` library finds cached results by
    the fingerprint, and those of the old labels must not be used for the new ones.
    """
    if out.resolve() == folder.resolve():
        _rewrite_dataset(source, folder, update, suffix, revert=revert)
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidOption(f"cannot write the data set to {out}: it is there already; choose another place")
    with temporary_beside(out) as temporary:
        shutil.copytree(folder, temporary, symlinks=True)  # what a link leads to may be anything
        _rewrite_dataset(source, temporary, update, suffix, revert=revert)
        if out.exists():
            out.rmdir()
        os.rename(temporary, out)


def _rewrite_dataset(source: Source, folder: Path, update: LabelUpdate, suffix: str, *, revert: bool) -> None:
    """Write the Arrow files of the source with new labels into ``folder``, which may be its own.

    All files are written before the first one is replaced, which is the fingerprint: after an interruption, results
    for the old labels are not used for the new ones, and the next call replaces the rest.
    """
    table, column = source.table, source.label_column
    assert isinstance(table, HuggingFaceTable) and column is not None
    start, class_names = 0, table.class_names().get(column)
    with ExitStack() as files:
        written = {path.name: files.enter_context(temporary_beside(folder / path.name)) for path in table.paths}
        for path in table.paths:
            start = relabel_ipc(
                path, written[path.name], update, column=column, class_names=class_names, start=start
            )
        if (folder / STATE).is_file():
            state = files.enter_context(temporary_beside(folder / STATE))
            write_json(state, _new_state(folder / STATE, suffix, revert=revert))
            written = {STATE: state, **written}
        for temporary in written.values():
            sync_file(temporary)
        for name, temporary in written.items():
            os.replace(temporary, folder / name)


def _new_state(path: Path, suffix: str, *, revert: bool) -> dict[str, Any]:
    state = parse_json(path.read_text(encoding="utf-8"))
    fingerprint = str(state.get("_fingerprint", "")).removesuffix(suffix)
    return {**state, "_fingerprint": fingerprint if revert else f"{fingerprint}{suffix}"[-_MAX_FINGERPRINT:]}
