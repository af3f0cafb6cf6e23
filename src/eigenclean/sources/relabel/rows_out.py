"""Files without some of their rows: the bytes, or the values, of all other rows stay as they are.

A new format is one function and one line in `ROW_REMOVERS`.
"""

import gzip
import io
import mmap
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.lib import format as npy_format

from eigenclean.arrays import Bools
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.sources.arrays.mapped import read_header
from eigenclean.sources.base import Source
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.relabel.arrays import COPY_BYTES, copy_npz
from eigenclean.sources.relabel.delimited import row_spans
from eigenclean.sources.relabel.ipc import compression
from eigenclean.sources.relabel.json_records import object_spans
from eigenclean.sources.relabel.parquet import copy_metadata, stored_schema, writer_settings
from eigenclean.sources.relabel.recoded import compress_like, plain_copy, write_back
from eigenclean.sources.tabular.arrow import ArrowTable, open_ipc, record_batches
from eigenclean.sources.tabular.delimited import CsvTable
from eigenclean.sources.tabular.dialect import GZIP
from eigenclean.sources.tabular.json_records import JsonTable
from eigenclean.sources.tabular.parquet import ParquetTable
from eigenclean.sources.tabular.table import Table

RowRemover = Callable[[Path, Path, Bools], None]


def row_remover(source: Source, path: Path) -> RowRemover:
    """A function that writes a copy of the file ``path`` without some rows; `InvalidOption` if there is none.

    It is called with the file, the copy, and a mask of the rows that stay.
    """
    if source.table is not None and source.label_column is not None:
        remove = ROW_REMOVERS.get(type(source.table))
        if remove is not None:
            return partial(remove, source.table)
    if source.table is None and path.suffix.lower() == ".npz":
        return remove_from_npz
    if source.table is None and path.suffix.lower() in (".npy", ".txt", ".csv"):
        why = "its labels are in a file of their own, and taking rows out of that alone would shift the others"
    else:
        why = "that is possible for CSV, JSON, Parquet and Arrow files, .npz archives and class folders of images"
    raise InvalidOption(
        f"--drop-removed cannot take rows out of {source.name}: {why}; leave it out: `eigenclean train --patch` "
        "and `detect --decisions` do not learn from removed rows"
    )


def remove_from_csv(table: Table, path: Path, out: Path, stays: Bools) -> None:
    """CSV and TSV files: the bytes of the rows are left out, with their line ends."""
    assert isinstance(table, CsvTable)
    dialect = table.dialect
    with open(path, "rb") as file, open(out, "wb") as target, explain_read_errors(str(path), "CSV file"):
        if dialect.is_plain:
            _cut(file, target, dialect.delimiter, stays, name=str(path))
            return
        with plain_copy(file, dialect, out.parent) as copy, tempfile.TemporaryFile(dir=out.parent) as edited:
            _cut(copy, edited, dialect.delimiter, stays, name=str(path))
            edited.seek(0)
            write_back(edited, target, dialect, file)


def _cut(file: IO[bytes], target: IO[bytes], delimiter: str, stays: Bools, *, name: str) -> None:
    content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        spans = row_spans(content, delimiter.encode())
        next(spans)  # the header
        for start, end in _pieces(spans, len(content), stays, name=name):
            for at in range(start, end, COPY_BYTES):
                target.write(content[at : min(at + COPY_BYTES, end)])
    finally:
        content.close()


def _pieces(spans: Iterator[tuple[int, int]], size: int, stays: Bools, *, name: str) -> Iterator[tuple[int, int]]:
    """The spans of what remains of a text when the spans of some rows are left out."""
    copied, n_rows = 0, 0
    for start, end in spans:
        if n_rows < len(stays) and not stays[n_rows]:
            yield copied, start
            copied = end
        n_rows += 1
    if n_rows != len(stays):
        raise InvalidData(f"{name} has {n_rows} rows, not the {len(stays)} that were read; try again")
    yield copied, size


def remove_from_json(table: Table, path: Path, out: Path, stays: Bools) -> None:
    """JSON lines, and a list of objects: the objects are left out, with the comma or the line end after them."""
    with explain_read_errors(str(path), "JSON file"):
        stored = path.read_bytes()
        is_compressed = stored.startswith(GZIP)
        text = (gzip.decompress(stored) if is_compressed else stored).decode("utf-8")
    spans = list(object_spans(text))
    starts = [start for start, _ in spans]
    if text[: starts[0]].strip("\ufeff \t\r\n") == "[" and len(spans) == len(stays) and not stays[-1]:
        # No comma may follow the last object: what is left out begins behind the last one that stays.
        last = int(np.flatnonzero(stays)[-1])
        text = text[: spans[last][1]] + text[spans[-1][1] :]
        spans, stays = spans[: last + 1], stays[: last + 1]
        starts = starts[: last + 1]
    ends = [*starts[1:], spans[-1][1]]
    if not stays[-1]:
        ends[-1] = len(text)
    pieces = _pieces(iter(zip(starts, ends, strict=True)), len(text), stays, name=str(path))
    content = "".join(text[start:end] for start, end in pieces).encode("utf-8")
    with open(out, "wb") as target:
        if is_compressed:
            compress_like(io.BytesIO(stored), io.BytesIO(content), target)
        else:
            target.write(content)


def remove_from_parquet(table: Table, path: Path, out: Path, stays: Bools) -> None:
    """Parquet files: the same schema, metadata and settings; row groups become shorter."""
    with explain_read_errors(str(path), "Parquet file"), pq.ParquetFile(path, pre_buffer=False) as file:
        schema, start = stored_schema(file), 0
        with pq.ParquetWriter(out, schema, **writer_settings(file)) as writer:
            for number in range(file.num_row_groups):
                group = file.read_row_group(number)
                remaining = group.filter(pa.array(stays[start : start + group.num_rows])).cast(schema)
                start += group.num_rows
                if remaining.num_rows:
                    writer.write_table(remaining, row_group_size=remaining.num_rows)
            copy_metadata(file, writer)


def remove_from_arrow(table: Table, path: Path, out: Path, stays: Bools) -> None:
    """Arrow and Feather files: batches become shorter."""
    with explain_read_errors(str(path), "Arrow file"):
        reader: Any = open_ipc(path)
        is_file, start = isinstance(reader, pa.ipc.RecordBatchFileReader), 0
        options = pa.ipc.IpcWriteOptions(compression=compression(path, is_file))
        new_writer: Any = pa.ipc.new_file if is_file else pa.ipc.new_stream
        with new_writer(str(out), reader.schema, options=options) as writer:
            for batch in record_batches(reader):
                remaining = batch.filter(pa.array(stays[start : start + batch.num_rows]))
                start += batch.num_rows
                if remaining.num_rows:
                    writer.write_batch(remaining)


def remove_from_npz(path: Path, out: Path, stays: Bools) -> None:
    """Archives of arrays: the rows of every array that has one for each label; others are copied."""

    def write(info: zipfile.ZipInfo, member: IO[bytes], target: IO[bytes]) -> None:
        shape = None
        if info.filename.endswith(".npy"):
            shape, _, dtype = read_header(member, name=f"{info.filename} of {path}")
        member.seek(0)
        if not shape or shape[0] != len(stays) or dtype.hasobject:
            shutil.copyfileobj(member, target, COPY_BYTES)
            return
        rows = npy_format.read_array(member, allow_pickle=False)[stays]
        npy_format.write_array(target, np.asarray(rows), version=(1, 0), allow_pickle=False)

    copy_npz(path, out, write)


ROW_REMOVERS: Mapping[type[Table], Callable[[Table, Path, Path, Bools], None]] = {
    CsvTable: remove_from_csv,
    JsonTable: remove_from_json,
    ParquetTable: remove_from_parquet,
    ArrowTable: remove_from_arrow,
}
