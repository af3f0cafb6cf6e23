"""Arrow IPC files and streams (also Feather), memory-mapped."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from eigenclean.errors import InvalidData
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.plain_types import plain_schema, plain_types
from eigenclean.sources.tabular.table import Table

_Reader = pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader

_FILE = b"ARROW1"
_MARK = b"\xff\xff\xff\xff"  # begins every message of a stream
_END = _MARK + bytes(4)


class ArrowTable(Table):
    """The columns of one or several Arrow files with the same columns.

    Attributes:
        paths: the files.
    """

    def __init__(self, *paths: Path, name: str) -> None:
        self.name = name
        self.paths = paths
        schemas = []
        for path in paths:
            with explain_read_errors(str(path), "Arrow file"):
                _check_end(path)
                schemas.append(open_ipc(path).schema)
                _ = schemas[-1].names  # decoded only now, and they may be damaged too
        self._schema = plain_schema(schemas[0])
        for path, schema in zip(paths, schemas, strict=True):
            if not schema.equals(schemas[0]):
                raise InvalidData(
                    f"{name}: {path.name} must have the same columns as {paths[0].name}; save it again"
                )

    def stream(self, columns: Sequence[str], rows: int, *, mapped: bool = True) -> Iterator[pa.RecordBatch]:
        """Record batches as they are in the files; without compression they are views of the mapped file."""
        names = list(columns)
        for path in self.paths:
            with explain_read_errors(str(path), "Arrow file"):
                places = [self.schema.names.index(name) for name in names]
                for batch in record_batches(open_ipc(path, places, mapped=mapped)):
                    selected = batch.select(names)
                    selected.validate(full=True)  # offsets in a damaged file could point anywhere
                    yield plain_types(selected)


def open_ipc(path: Path, fields: list[int] | None = None, *, mapped: bool = True) -> _Reader:
    """A reader of the file, mapped or not; of a stream, only those fields."""
    source = pa.memory_map(str(path)) if mapped else pa.OSFile(str(path), "rb")
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    if source.read(len(_FILE)) == _FILE:
        # Told which fields to read, it would copy them out of the map.
        return pa.ipc.open_file(source) if mapped else pa.ipc.open_file(source, options=options)
    source.seek(0)
    return pa.ipc.open_stream(source, options=options)


def record_batches(reader: _Reader) -> Iterator[pa.RecordBatch]:
    """The record batches of the reader, in order."""
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)
    else:
        yield from reader


def _check_end(path: Path) -> None:
    """A stream that was cut between two batches reads like a shorter one: only its end mark tells."""
    with open(path, "rb") as file:
        if file.read(len(_MARK)) != _MARK:
            return
        file.seek(-len(_END), 2)
        if file.read() != _END:
            raise InvalidData(f"{path} ends without the mark of a complete Arrow stream; write it again")
