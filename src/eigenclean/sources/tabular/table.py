"""Tables of columns, whatever they are stored in: one source for Parquet, Arrow, CSV and data frames."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Array, check_ids, check_labels
from eigenclean.errors import InvalidData
from eigenclean.sources.arrays.memory import refuse_empty
from eigenclean.sources.base import Reader, Source
from eigenclean.sources.images.column import image_column
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.raw import TextSource
from eigenclean.sources.tabular.column_arrays import blocks, regroup, stack, texts, vector
from eigenclean.sources.tabular.columns import Columns, TableOptions, choose_columns

_CHUNK_ROWS = 1 << 16  # rows per batch when a whole table is read


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

    def prepared(self, options: TableOptions) -> AbstractContextManager[None]:
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
        for batch in self.stream(columns, _CHUNK_ROWS, mapped=False):
            first, last = max(start - n_seen, 0), min(stop - n_seen, batch.num_rows)
            if first < last:
                yield batch.slice(first, last - first)
            n_seen += batch.num_rows
            if n_seen >= stop:
                break

    def read(self, columns: Sequence[str]) -> pa.Table:
        """All rows of the columns."""
        batches = self.stream(columns, _CHUNK_ROWS) if columns else ()
        return pa.Table.from_batches(batches, schema=pa.schema([self.schema.field(name) for name in columns]))

    def read_with_features(
        self, columns: Sequence[str], features: Sequence[str]
    ) -> tuple[pa.Table, list[pa.RecordBatch] | None]:
        """Columns as `read` gives them and, if one pass can do both, the features as `stream` gives them.

        Only formats that must parse the whole file for any column gain by it; the others return None for the
        features, which are then read when they are needed.
        """
        return self.read(columns), None

    def count(self) -> int:
        """Number of rows."""
        return sum(batch.num_rows for batch in self.stream(self.schema.names[:1], _CHUNK_ROWS))

    def class_names(self) -> Mapping[str, Sequence[str]]:
        """For columns of class numbers, the names of the classes: Hugging Face keeps them in the schema."""
        try:
            record: Any = json.loads((self.schema.metadata or {}).get(b"huggingface", b"{}"))
            return class_labels(record.get("info", {}).get("features", {}))
        except (ValueError, AttributeError):
            return {}


def open_table(
    table: Table, options: TableOptions, *, labels: Array | None = None, one_pass: bool = False
) -> Source:
    """The table as a source: of features if there are any, else of the images or texts in its columns.

    Args:
        table: the columns.
        options: which of them are labels, features, ids, texts and images.
        labels: labels that are not in the table.
        one_pass: whether features may be kept in memory when the labels are read, to avoid a second pass.
    """
    with table.prepared(options) if one_pass else nullcontext():
        columns = choose_columns(table.schema, options, by=table.name, need_label=labels is None)
        if columns.features:
            return TableSource(table, columns, labels=labels, one_pass=one_pass)
        return _open_content(table, columns, options, labels)


def _open_content(table: Table, columns: Columns, options: TableOptions, labels: Array | None) -> Source:
    """A source of the images or texts in the columns of a table without features."""
    values = _row_values(table, table.read(_row_columns(columns)), columns, labels)
    source: Source
    if columns.image is None:
        assert values.texts is not None
        source = TextSource(table.name, values.texts, values.labels, ids=values.ids)
    else:
        cells = table.read([columns.image]).column(columns.image)
        images = image_column(
            cells, root=options.image_root or Path("."), by=table.name, follow_links=options.follow_links
        )
        captions = None if values.texts is None else np.array(values.texts, dtype=np.str_)
        source = ImageSource(table.name, images, values.labels, ids=values.ids, texts=captions)
    source.table, source.label_column = table, columns.label
    return source


class TableReader(Reader):
    """Reads any rows of a table."""

    def __init__(self, table: Table, columns: Sequence[str], *, name: str) -> None:
        self._table, self._columns, self._name = table, columns, name

    def read(self, start: int, stop: int) -> Array:
        """The features of rows ``start`` to ``stop`` as one array."""
        chunks = list(blocks(lambda: self._table.stream_rows(self._columns, start, stop), by=self._name))
        if sum(map(len, chunks)) != stop - start:
            raise InvalidData(
                f"{self._name} has fewer rows than when it was opened; run again when nobody changes it"
            )
        return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)


class TableSource(Source):
    """Rows of a table; labels, ids and texts are read when it is opened, features on the first request.

    The features are kept once they have been read, so that the data hash and the report use the array that was
    judged and the file is not read again. `blocks` alone never keeps anything.
    """

    table: Table

    def __init__(
        self, table: Table, columns: Columns, *, labels: Array | None = None, one_pass: bool = False
    ) -> None:
        self.name = table.name
        self.table = table
        self.label_column = columns.label
        self._columns = columns
        self._features: Array | None = None
        self._batches: list[pa.RecordBatch] | None = None  # of the features, when they were read with the labels
        if one_pass:
            small, self._batches = table.read_with_features(_row_columns(columns), columns.features)
        else:
            small = table.read(_row_columns(columns))
        n_rows = None if self._batches is None else sum(batch.num_rows for batch in self._batches)
        values = _row_values(table, small, columns, labels, n_rows)
        self.texts = values.texts
        self.labels = check_labels(values.labels, by=self.name, n_rows=values.n_rows)
        self.ids = check_ids(values.ids, values.n_rows, by=self.name)

    def features(self) -> Array:
        """All features; not copied when they are one list column in one piece of memory, or of a mapped file."""
        if self._features is None:
            self._features = stack(self._chunks(_CHUNK_ROWS), len(self))
            self._batches = None
        return self._features

    def reader(self) -> Reader:
        """A reader of the feature columns, which opens the file anew."""
        return TableReader(self.table, self._columns.features, name=self.name)

    def _blocks(self, rows: int) -> Iterator[Array]:
        if self._features is not None:
            return super()._blocks(rows)
        return regroup(self._chunks(rows, mapped=False), rows)

    def _chunks(self, rows: int, *, mapped: bool = True) -> Iterator[Array]:
        """The features in arrays of any length, as the table's batches come; their number is checked."""
        n_seen = 0

        def batches() -> Sequence[pa.RecordBatch] | Iterator[pa.RecordBatch]:
            if self._batches is not None:
                return self._batches
            return self.table.stream(self._columns.features, rows, mapped=mapped)

        for chunk in blocks(batches, by=self.name):
            n_seen += len(chunk)
            if n_seen <= len(self):
                yield chunk
        if n_seen != len(self):
            raise InvalidData(
                f"{self.name} has {n_seen} rows of features for {len(self)} labels; "
                "the file is damaged or was changed after it was opened, so open it again"
            )


@dataclass(frozen=True, eq=False)
class _RowValues:
    """What is known of every row beside its features: few bytes, so it is always in memory."""

    labels: Array
    ids: Array | None
    texts: list[str] | None
    n_rows: int


def _row_columns(columns: Columns) -> list[str]:
    names = (columns.label, columns.id, columns.text)
    return list(dict.fromkeys(name for name in names if name is not None))


def _row_values(
    table: Table, small: pa.Table, columns: Columns, labels: Array | None, n_rows: int | None = None
) -> _RowValues:
    """Labels (as names of classes where the table has them), ids and texts out of the columns in ``small``."""
    by = table.name
    if n_rows is None:
        n_rows = small.num_rows if small.num_columns else table.count()
    refuse_empty(n_rows, by=by)
    if columns.label is not None:
        labels = vector(small.column(columns.label), by=by, what="labels")
        class_names = table.class_names().get(columns.label)
        if class_names is not None:
            labels = _name_classes(labels, class_names, by=by)
    assert labels is not None  # choose_columns insists on a label column otherwise
    shown = None if columns.text is None else texts(small.column(columns.text))
    return _RowValues(labels, _ids(small, columns.id, by=by), shown, n_rows)


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


def _name_classes(labels: Array, names: Sequence[str], *, by: str) -> Array:
    if labels.dtype.kind not in "iu":
        return labels
    unknown = (labels >= len(names)) | (labels < -1)
    if unknown.any():
        first = int(np.argmax(unknown))
        raise InvalidData(
            f"{by}: labels must be numbers of its {len(names)} classes, got {labels[first].item()} in row {first}"
        )
    # Hugging Face writes -1 for "no label"; as the empty string it is refused like any other missing label.
    result: Array = np.array([*names, ""])[labels.astype(np.int64)]
    return result


def _ids(table: pa.Table, column: str | None, *, by: str) -> Array | None:
    if column is None:
        return None
    ids = table.column(column)
    if ids.null_count:
        raise InvalidData(f"{by}: ids must be complete, but {ids.null_count} of the column {column!r} are missing")
    return vector(ids, by=by, what="ids")
