"""JSON files: one object per line (``.jsonl``), or a list of objects (``.json``); each object is a row."""

import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json

from eigenclean.errors import InvalidData
from eigenclean.files import parse_json
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.cells import column_of
from eigenclean.sources.tabular.columns import is_image_struct
from eigenclean.sources.tabular.dialect import GZIP
from eigenclean.sources.tabular.table import Table

_BLOCK_BYTES = 1 << 24  # the longest row


class JsonTable(Table):
    """The rows of one JSON file, in memory as columns; objects in objects become columns such as ``user.age``."""

    def __init__(self, path: Path, *, name: str) -> None:
        self.name = name
        with explain_read_errors(name, "JSON file"):
            table = _read(path, name=name)
            while any(pa.types.is_struct(kind) and not is_image_struct(kind) for kind in table.schema.types):
                table = table.flatten()
        self._table = table
        self._schema = table.schema

    def stream(self, columns: Sequence[str], rows: int, *, mapped: bool = True) -> Iterator[pa.RecordBatch]:
        """Slices of the columns."""
        yield from self._table.select(list(columns)).to_batches()

    def count(self) -> int:
        """Number of objects."""
        return self._table.num_rows


def _read(path: Path, *, name: str) -> pa.Table:
    content = path.read_bytes()
    if content.startswith(GZIP):
        content = gzip.decompress(content)
    text = content.decode("utf-8-sig")
    if text.lstrip()[:1] != "[":
        try:
            return pyarrow.json.read_json(
                io.BytesIO(text.encode()), read_options=pyarrow.json.ReadOptions(block_size=_BLOCK_BYTES)
            )
        except pa.ArrowInvalid:  # a value changes its type from row to row, perhaps; Python says what is wrong else
            return _columns([parse_json(line) for line in text.splitlines() if line.strip()], name=name)
    return _columns(parse_json(text), name=name)


def _columns(rows: Any, *, name: str) -> pa.Table:
    """The rows as columns; cells of several types become texts."""
    if not all(isinstance(row, dict) for row in rows):
        raise InvalidData(
            f'{name} must hold one JSON object per row, such as {{"text": "…", "label": "…"}}; '
            "write the rows as a list of objects, or one object per line"
        )
    names = dict.fromkeys(key for row in rows for key in row)
    return pa.table({key: column_of([row.get(key) for row in rows]) for key in names})
