"""Tables of columns, whatever they are stored in: Parquet, Arrow, CSV and data frames."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pyarrow as pa

from eigenclean.sources.tabular.columns import ColumnOptions

CHUNK_ROWS = 1 << 16  # rows per batch when a whole table is read
_HEAD_ROWS = 1000


class Table(ABC):
    """Named columns that can be read in batches, each only on request.

    Attributes:
        name: what to call it in messages.
    """

    name: str
    _schema: pa.Schema

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        return self._schema

    def prepared(self, options: ColumnOptions) -> AbstractContextManager[None]:
        """A context that holds what `read` and `read_with_features` will be asked for, if that saves a pass."""
        return nullcontext()

    @abstractmethod
    def stream(self, columns: Sequence[str], rows: int, *, mapped: bool = True) -> Iterator[pa.RecordBatch]:
        """The columns in row order, about ``rows`` rows per batch.

        With ``mapped``, batches may be views of a memory-mapped file; without it, each is freed after use.
        """

    def stream_rows(self, columns: Sequence[str], start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """The rows from ``start`` to ``stop``; a format without random access reads all rows before them."""
        n_seen = 0
        for batch in self.stream(columns, CHUNK_ROWS, mapped=False):
            first, last = max(start - n_seen, 0), min(stop - n_seen, batch.num_rows)
            if first < last:
                yield batch.slice(first, last - first)
            n_seen += batch.num_rows
            if n_seen >= stop:
                break

    def read(self, columns: Sequence[str]) -> pa.Table:
        """All rows of the columns."""
        batches = self.stream(columns, CHUNK_ROWS) if columns else ()
        return pa.Table.from_batches(batches, schema=pa.schema([self.schema.field(name) for name in columns]))

    def read_with_features(
        self, columns: Sequence[str], features: Sequence[str]
    ) -> tuple[pa.Table, list[pa.RecordBatch] | None]:
        """Columns as `read` gives them and, if one pass can do both, the features as `stream` gives them.

        Only formats that must parse the whole file for any column gain by it; the others return None for the
        features, which are then read when they are needed.
        """
        return self.read(columns), None

    def has_gaps(self, columns: Sequence[str]) -> bool:
        """Whether values of these columns are missing, as far as it can be told without parsing them."""
        return any(column.null_count for batch in self.stream(columns, CHUNK_ROWS) for column in batch.columns)

    def head(self, columns: Sequence[str]) -> pa.RecordBatch | None:
        """The first rows; None where they cost too much."""
        return next(iter(self.stream(columns, _HEAD_ROWS)), None)

    def count(self) -> int:
        """Number of rows."""
        return sum(batch.num_rows for batch in self.stream(self.schema.names[:1], CHUNK_ROWS))

    def class_names(self) -> Mapping[str, Sequence[str]]:
        """For columns of class numbers, the names of the classes: Hugging Face keeps them in the schema."""
        try:
            record: Any = json.loads((self.schema.metadata or {}).get(b"huggingface", b"{}"))
            return class_labels(record.get("info", {}).get("features", {}))
        except (ValueError, AttributeError):
            return {}


def class_labels(features: Any) -> dict[str, list[str]]:
    """Names of the classes of each ``ClassLabel`` among Hugging Face's feature descriptions.

    >>> class_labels({"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}, "x": {"_type": "Value"}})
    {'label': ['cat', 'dog']}
    """
    if not isinstance(features, dict):
        return {}
    return {
        column: [str(name) for name in kind["names"]]
        for column, kind in features.items()
        if isinstance(kind, dict) and kind.get("_type") == "ClassLabel" and isinstance(kind.get("names"), list)
    }
