"""Tables of columns, whatever they are stored in: one source for Parquet, Arrow, CSV and data frames."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Array, check_ids, check_labels
from eigenclean.errors import InvalidData
from eigenclean.sources.arrays.memory import refuse_empty
from eigenclean.sources.base import Reader, Source
from eigenclean.sources.images.column import image_column as image_cells
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.raw import TextSource
from eigenclean.sources.tabular.column_arrays import blocks, regroup, stack, texts, vector
from eigenclean.sources.tabular.columns import Columns, choose_columns

_PIECE = 1 << 16  # when everything is wanted, it is read in pieces of this many rows


class Rows(ABC):
    """Named columns that can be read in batches, only those that are asked for.

    Attributes:
        name: what to call it in messages.
        schema: names and types of all columns.
    """

    name: str
    schema: pa.Schema

    @abstractmethod
    def stream(self, columns: Sequence[str], rows: int, *, mapped: bool = True) -> Iterator[pa.RecordBatch]:
        """The columns in order, about ``rows`` rows at a time; not ``mapped``, memory is free again after them."""

    def stream_rows(self, columns: Sequence[str], start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Some rows, ``start`` to ``stop``; where the format does not know where they are, by looking for them."""
        seen = 0
        for batch in self.stream(columns, _PIECE, mapped=False):
            first, last = max(start - seen, 0), min(stop - seen, batch.num_rows)
            if first < last:
                yield batch.slice(first, last - first)
            seen += batch.num_rows
            if seen >= stop:
                break

    def read(self, columns: Sequence[str]) -> pa.Table:
        """The columns, all rows."""
        batches = self.stream(columns, _PIECE) if columns else ()
        return pa.Table.from_batches(batches, schema=pa.schema([self.schema.field(name) for name in columns]))

    def count(self) -> int:
        """How many rows there are."""
        return sum(batch.num_rows for batch in self.stream(self.schema.names[:1], _PIECE))

    def class_names(self) -> Mapping[str, Sequence[str]]:
        """For columns of class numbers, the names of the classes: Hugging Face keeps them in the schema."""
        try:
            record: Any = json.loads((self.schema.metadata or {}).get(b"huggingface", b"{}"))
            return class_labels(record.get("info", {}).get("features", {}))
        except (ValueError, AttributeError):
            return {}


def open_table(
    rows: Rows,
    *,
    labels: Array | None = None,
    image_root: Path | None = None,
    label_column: str | None = None,
    feature_columns: str | Sequence[str] | None = None,
    id_column: str | None = None,
    text_column: str | None = None,
    image_column: str | None = None,
    raw: bool = False,
) -> Source:
    """The rows as a source: of features if there are any, else of the images or texts in the named columns.

    Paths of images are relative to ``image_root``.
    """
    columns = choose_columns(
        rows.schema,
        by=rows.name,
        label=label_column,
        features=feature_columns,
        id=id_column,
        text=text_column,
        image=image_column,
        raw=raw,
        need_label=labels is None,
    )
    if columns.features:
        return TableSource(rows, columns, labels=labels)
    labels, ids, texts, _ = _read_small(rows, columns, labels)
    made: Source
    if columns.image is None:
        assert texts is not None
        made = TextSource(rows.name, texts, labels, ids=ids)
    else:
        cells = rows.read([columns.image]).column(columns.image)
        images = image_cells(cells, root=image_root or Path("."), by=rows.name)
        shown = None if texts is None else np.array(texts, dtype=np.str_)
        made = ImageSource(rows.name, images, labels, ids=ids, texts=shown)
    made.table, made.label_column = rows, columns.label
    return made


class TableReader(Reader):
    """Reads any rows of a table."""

    def __init__(self, rows: Rows, columns: Sequence[str], *, name: str) -> None:
        self._rows, self._columns, self._name = rows, columns, name

    def read(self, start: int, stop: int) -> Array:
        """As one array."""
        found = list(blocks(lambda: self._rows.stream_rows(self._columns, start, stop), by=self._name))
        if sum(map(len, found)) != stop - start:
            raise InvalidData(
                f"{self._name} has fewer rows than when it was opened; run again when nobody changes it"
            )
        return found[0] if len(found) == 1 else np.concatenate(found)


class TableSource(Source):
    """Rows of a table; labels, ids and texts are read at once, features when they are wanted."""

    def __init__(self, rows: Rows, columns: Columns, *, labels: Array | None = None) -> None:
        self.name = rows.name
        self.table = self._rows = rows
        self.label_column = columns.label
        self._columns = columns
        labels, ids, self.texts, n_rows = _read_small(rows, columns, labels)
        self.labels = check_labels(labels, by=self.name, n_rows=n_rows)
        self.ids = check_ids(ids, n_rows, by=self.name)

    def features(self) -> Array:
        """All features; not copied when they are one list column in one piece of memory, or of a mapped file."""
        return stack(self._parts(_PIECE), len(self))

    def reader(self) -> Reader:
        """Of the wanted columns."""
        return TableReader(self._rows, self._columns.features, name=self.name)

    def _blocks(self, rows: int) -> Iterator[Array]:
        return regroup(self._parts(rows, mapped=False), rows)

    def _parts(self, rows: int, *, mapped: bool = True) -> Iterator[Array]:
        seen = 0
        columns = self._columns.features
        for block in blocks(lambda: self._rows.stream(columns, rows, mapped=mapped), by=self.name):
            seen += len(block)
            if seen <= len(self):
                yield block
        if seen != len(self):
            raise InvalidData(
                f"{self.name} has {seen} rows of features for {len(self)} labels; "
                "the file is damaged or was changed after it was opened, so open it again"
            )


def _read_small(
    rows: Rows, columns: Columns, labels: Array | None
) -> tuple[Array, Array | None, list[str] | None, int]:
    """Labels (as names of classes where there are some), ids, texts, and the number of rows."""
    by = rows.name
    small = [name for name in (columns.label, columns.id, columns.text) if name is not None]
    table = rows.read(list(dict.fromkeys(small)))
    n_rows = table.num_rows if small else rows.count()
    refuse_empty(n_rows, by=by)
    if columns.label is not None:
        names = rows.class_names().get(columns.label)
        labels = vector(table.column(columns.label), by=by, what="labels")
        if names is not None:
            labels = _named(labels, names, by=by)
    assert labels is not None  # choose_columns insists on a label column otherwise
    shown = None if columns.text is None else texts(table.column(columns.text))
    return labels, _ids(table, columns.id, by=by), shown, n_rows


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


def _named(labels: Array, names: Sequence[str], *, by: str) -> Array:
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
