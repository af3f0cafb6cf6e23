"""Arrow files and streams, rewritten batch by batch with the same schema, metadata and compression."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.relabel.change import Change
from eigenclean.sources.relabel.columns import LabelColumn
from eigenclean.sources.tabular.arrow import open_ipc, record_batches

_START = 8  # a file is a stream with eight bytes before it
_CODECS: tuple[Any, ...] = (None, "lz4", "zstd")


def relabel_ipc(
    path: Path, out: Path, change: Change, *, column: str, names: Sequence[str] | None = None, start: int = 0
) -> int:
    """Write a copy of ``path`` to ``out`` with the labels of ``change`` in that column.

    Its first row counts as row ``start``, for data in several files; returns where the next file starts.
    """
    with explain_read_errors(str(path), "Arrow file"):
        reader: Any = open_ipc(path)
        schema = reader.schema
        place = schema.names.index(column)
        field = schema.field(place)
        words = _words(path, place) if isinstance(field.type, pa.DictionaryType) else None
        labels = LabelColumn(change, field.type, name=str(path), names=names, words=words)
        is_file = isinstance(reader, pa.ipc.RecordBatchFileReader)
        options = pa.ipc.IpcWriteOptions(compression=_codec(path, is_file))
        make: Any = pa.ipc.new_file if is_file else pa.ipc.new_stream
        with make(str(out), schema, options=options) as writer:
            for batch in record_batches(reader):
                writer.write_batch(batch.set_column(place, field, labels.replaced(batch.column(place), start)))
                start += batch.num_rows
    return start


def _words(path: Path, place: int) -> Any:
    """All words of the column's dictionaries, in the order in which they come."""
    batches: Any = record_batches(open_ipc(path))
    return pc.unique(pa.concat_arrays([batch.column(place).dictionary for batch in batches]))


def _codec(path: Path, is_file: bool) -> Any:
    """How the batches are compressed: Arrow does not say, but writing one of them again shows it by its size."""
    with pa.OSFile(str(path), "rb") as source:
        if is_file:
            source.seek(_START)
        try:
            size = _first_batch(source).body.size
        except EOFError:
            return None
    first: Any = next(record_batches(open_ipc(path)))

    def apart(codec: Any) -> int:  # a few bytes of padding may differ
        options = pa.ipc.IpcWriteOptions(compression=codec)
        return abs(int(_written_batch(first, options).body.size) - int(size))

    return min(_CODECS, key=apart)


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
