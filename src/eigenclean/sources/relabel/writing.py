"""Where the labels of a source are kept, and how a file with other labels comes to be there."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from eigenclean.arrays import Array
from eigenclean.errors import InvalidOption
from eigenclean.files import make_folder, replacing, write_json
from eigenclean.sources.base import Source
from eigenclean.sources.relabel.arrays import relabel_npy, relabel_npz
from eigenclean.sources.relabel.change import Change
from eigenclean.sources.relabel.delimited import relabel_csv
from eigenclean.sources.relabel.ipc import relabel_ipc
from eigenclean.sources.relabel.lines import relabel_lines
from eigenclean.sources.relabel.parquet import relabel_parquet
from eigenclean.sources.relabel.undo import Undo
from eigenclean.sources.tabular.arrow import ArrowTable
from eigenclean.sources.tabular.columns import LABEL_NAMES
from eigenclean.sources.tabular.delimited import CsvTable
from eigenclean.sources.tabular.hf import STATE, HuggingFaceTable
from eigenclean.sources.tabular.parquet import ParquetTable

Write = Callable[[Path, Path, Change, Undo], None]
_LONGEST = 64  # characters of a fingerprint that Hugging Face accepts


def writer_of(source: Source, path: Path) -> Write | None:
    """What rewrites the labels in the file ``path`` of the source; None when nobody can."""
    suffix = path.suffix.lower()
    if source.table is None or source.label_column is None:  # labels in a file of their own
        return {".npz": relabel_npz, ".npy": relabel_npy, ".txt": relabel_lines, ".csv": _label_file}.get(suffix)
    column, rows = source.label_column, source.table
    names = rows.class_names().get(column)
    if isinstance(rows, CsvTable):
        return partial(
            relabel_csv, column=rows.schema.names.index(column), delimiter="\t" if suffix == ".tsv" else ","
        )
    if isinstance(rows, ParquetTable):
        return _plain(partial(relabel_parquet, column=column, names=names))
    if isinstance(rows, ArrowTable) and not isinstance(rows, HuggingFaceTable):
        return _plain(partial(relabel_ipc, column=column, names=names))
    return None


def write_file(write: Write, path: Path, out: Path, change: Change) -> None:
    """Write ``out``, which may be ``path`` itself, whole or not at all."""
    undo = Undo.beside(path)
    mode = path.stat().st_mode
    with replacing(out) as temporary:
        write(path, temporary, change, undo)
        undo.save(out, before=True)  # whatever happens in between, nothing is forgotten
    out.chmod(mode)
    undo.save(out)


def write_labels(out: Path, labels: Array) -> None:
    """The labels alone, in row order, for ``--labels``."""
    with replacing(out) as temporary, open(temporary, "wb") as file:
        np.save(file, labels, allow_pickle=False)


def write_manifest(out: Path, ids: Array, labels: Array) -> None:
    """A CSV file of ``file,label`` for all samples."""
    with replacing(out) as temporary:
        pyarrow.csv.write_csv(pa.table({"file": pa.array(ids), "label": pa.array(labels)}), str(temporary))


def write_saved_dataset(source: Source, folder: Path, out: Path, change: Change, mark: str) -> None:
    """Rewrite the Arrow files of a saved Hugging Face data set, in place one by one or in a copy of the folder.

    Its fingerprint, by which the ``datasets`` library knows cached results, gets ``mark`` at its end, or loses it.
    """
    rows = source.table
    assert isinstance(rows, HuggingFaceTable) and source.label_column is not None
    options = {"column": source.label_column, "names": rows.class_names().get(source.label_column)}
    if out.resolve() == folder.resolve():
        _rewrite(rows, folder, change, options, mark)
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidOption(f"cannot write the data set to {out}: it is there already; choose another place")
    make_folder(out.parent)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".tmp", dir=out.parent))
    try:
        shutil.copytree(folder, temporary, dirs_exist_ok=True)
        _rewrite(rows, temporary, change, options, mark)
        if out.exists():
            out.rmdir()
        os.rename(temporary, out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _rewrite(rows: HuggingFaceTable, folder: Path, change: Change, options: Mapping[str, Any], mark: str) -> None:
    start = 0
    for path in rows.paths:
        target = folder / path.name
        with replacing(target) as temporary:
            start = relabel_ipc(path, temporary, change, start=start, **options)
    if (folder / STATE).is_file():
        state = json.loads((folder / STATE).read_text(encoding="utf-8"))
        now = str(state.get("_fingerprint", ""))
        then = now.removesuffix(mark) if now.endswith(mark) else f"{now}{mark}"[-_LONGEST:]
        write_json(folder / STATE, {**state, "_fingerprint": then})


def _plain(write: Callable[[Path, Path, Change], object]) -> Write:
    """A format in which the label says how it is written: nothing to remember."""

    def remembering(path: Path, out: Path, change: Change, undo: Undo) -> None:
        write(path, out, change)

    return remembering


def _label_file(path: Path, out: Path, change: Change, undo: Undo) -> None:
    with open(path, encoding="utf-8-sig", newline="") as file:
        header = file.readline().strip().strip('"').strip().lower() in LABEL_NAMES
    relabel_csv(path, out, change, undo, column=0, header=header)
