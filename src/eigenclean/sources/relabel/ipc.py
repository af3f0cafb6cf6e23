"""Arrow files and streams, rewritten batch by batch with the same schema, metadata and compression."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.relabel.columns import LabelColumn
from eigenclean.sources.relabel.update import LabelUpdate, UndoLog
from eigenclean.sources.tabular.arrow import open_ipc, record_batches
from eigenclean.sources.tabular.table import Table

_FILE_HEADER_BYTES = 8  # a file is a stream with eight bytes before it
_CODECS: tuple[Any, ...] = (None, "lz4", "zstd")


def relabel_arrow(
    path: Path, out: Path, update: LabelUpdate, undo_log: UndoLog, *, table: Table, column: str
) -> None:
    """Write a copy of ``path`` to ``out`` with the labels of ``update`` in that column of the table.

    A label has only one spelling in an Arrow file, so there is nothing to log.
    """
    relabel_ipc(path, out, update, column=column, class_names=table.class_names().get(column))


def relabel_ipc(
    path: Path,
    out: Path,
    update: LabelUpdate,
    *,
    column: str,
    class_names: Sequence[str] | None = None,
    start: int = 0,
) -> int:
    """Write a copy of ``path`` to ``out`` with the labels of ``update`` in that column.

    Its first row counts as row ``start``, for data in several files; returns where the next file starts.
    """
    with explain_read_errors(str(path), "Arrow file"):
        reader: Any = open_ipc(path)
        schema = reader.schema
        place = schema.names.index(column)
        field = schema.field(place)
        dictionary = _dictionary(path, place) if isinstance(field.type, pa.DictionaryType) else None
        labels = LabelColumn(update, field.type, name=str(path), class_names=class_names, dictionary=dictionary)
        is_file = isinstance(reader, pa.ipc.RecordBatchFileReader)
        options = pa.ipc.IpcWriteOptions(compression=compression(path, is_file))
        new_writer: Any = pa.ipc.new_file if is_file else pa.ipc.new_stream
        with new_writer(str(out), schema, options=options) as writer:
            for batch in record_batches(reader):
                writer.write_batch(batch.set_column(place, field, labels.replace(batch.column(place), start)))
                start += batch.num_rows
    return start


def _dictionary(path: Path, place: int) -> Any:
    """All values of the column's dictionaries, in order of appearance."""
    batches: Any = record_batches(open_ipc(path))
    return pc.unique(pa.concat_arrays([batch.column(place).dictionary for batch in batches]))


def compression(path: Path, is_file: bool) -> Any:
    """Compression of the batches: Arrow does not expose it, so the codec is found by rewriting the first batch."""
    with pa.OSFile(str(path), "rb") as source:
        if is_file:
            source.seek(_FILE_HEADER_BYTES)
        try:
            size = _first_batch(source).body.size
        except EOFError:
            return None
    first: Any = next(record_batches(open_ipc(path)))

    def size_difference(codec: Any) -> int:  # a few bytes of padding may differ
        options = pa.ipc.IpcWriteOptions(compression=codec)
        return abs(int(_written_batch(first, options).body.size) - int(size))

    return min(_CODECS, key=size_difference)


def _written_batch(batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions) -> Any:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return _first_batch(pa.BufferReader(sink.getvalue()))


def _first_batch(source: Any) -> Any:
    """The message that holds the first batch of a stream; EOFError when there is none."""
    message: Any = pa.ipc.read_message(source)
    while message.type != "record batch":
        message = pa.ipc.read_message(source)
    return message
