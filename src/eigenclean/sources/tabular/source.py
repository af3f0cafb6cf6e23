"""One source for every table: features as they are, or columns of several kinds encoded as numbers."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from eigenclean.arrays import Array, check_ids, check_labels
from eigenclean.errors import InvalidData
from eigenclean.sources.base import Reader, Source, fingerprint
from eigenclean.sources.images.column import image_column
from eigenclean.sources.images.source import ImageSource
from eigenclean.sources.raw import LabelSource, TextSource, text_bytes
from eigenclean.sources.tabular.column_arrays import Stream, blocks, joined_batches, regroup, stack
from eigenclean.sources.tabular.columns import ColumnOptions, Columns, choose_columns, is_number, no_features
from eigenclean.sources.tabular.label_choice import find_label_columns
from eigenclean.sources.tabular.rows import row_columns, row_values
from eigenclean.sources.tabular.table import CHUNK_ROWS, Table
from eigenclean.tables import TableEncoding, fit_encoding
from eigenclean.tables.encoders import NumberEncoder
from eigenclean.tables.encoding import class_numbers, comparable_scales
from eigenclean.tables.roles import MIN_ROWS
from eigenclean.tables.values import as_floats

MAX_READABLE = 64  # numbered columns that people may want to read; more are an embedding


def open_table(
    table: Table, options: ColumnOptions, *, labels: Array | None = None, one_pass: bool = False
) -> Source:
    """The table as a source: of features if there are any, else of images or texts, else of labels alone.

    Args:
        table: the columns.
        options: which of them are labels, features, ids, texts and images.
        labels: labels that are not in the table.
        one_pass: whether features may be kept in memory when the labels are read, to avoid a second pass.
    """
    with table.prepared(options) if one_pass else nullcontext():
        candidates = [] if labels is not None or options.label_column else find_label_columns(table, options)
        source = _open_rows(table, options, labels, one_pass, candidates) if len(candidates) != 1 else None
    if source is None:  # read again, as the labels have to be read as they are written
        options = replace(options, label_column=candidates[0])
        with table.prepared(options) if one_pass else nullcontext():
            source = _open_rows(table, options, None, one_pass)
        source.found_label = True
    if options.group_column is not None:
        source.groups = _groups(table, options.group_column)
    return source


def _groups(table: Table, column: str) -> Array:
    """The groups of the rows as numbers; a row without one is a group of its own."""
    cells = table.read([column]).column(column).to_pylist()
    numbers: dict[Any, int] = {}
    return np.array(
        [
            numbers.setdefault(("row", row) if cell in (None, "") else cell, len(numbers))
            for row, cell in enumerate(cells)
        ]
    )


def _open_rows(
    table: Table,
    options: ColumnOptions,
    labels: Array | None,
    one_pass: bool,
    label_candidates: Sequence[str] = (),
) -> Source:
    columns = choose_columns(
        table.schema, options, by=table.name, need_label=labels is None, label_candidates=label_candidates
    )
    if not columns.features:
        return _open_content(table, columns, options, labels)
    source = TableSource(table, columns, labels=labels, one_pass=one_pass)
    if not columns.embeds_text and source.is_matrix():
        return source
    encoding = source.fit_encoding()
    if not encoding.encoders:
        if columns.embeds_text or not options.need_features:
            return _open_content(table, columns, options, labels)
        raise no_features(table.schema, by=table.name, left_out=f"; {encoding.sentence_left_out()}")
    if encoding.is_as_is and not columns.embeds_text:
        return source.with_matrix(encoding)
    return EncodedTableSource(source, encoding)


def _open_content(table: Table, columns: Columns, options: ColumnOptions, labels: Array | None) -> Source:
    """A source of the images or texts in the columns of a table without features, or of its labels alone."""
    values = row_values(table, table.read(row_columns(columns)), columns, labels)
    source: Source
    if columns.image is None and values.texts is None:
        source = LabelSource(table.name, values.labels, ids=values.ids)
    elif columns.image is None:
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

    def __init__(
        self, table: Table, columns: Sequence[str], *, name: str, encoding: TableEncoding | None = None
    ) -> None:
        self._table, self._columns, self._name, self._encoding = table, columns, name, encoding

    def read(self, start: int, stop: int) -> Array:
        """The features of rows ``start`` to ``stop`` as one array."""
        batches = partial(self._table.stream_rows, self._columns, start, stop)
        chunks = list(_features(batches, self._encoding, by=self._name))
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
        self.columns = columns
        self._used: Sequence[str] = columns.features
        self._transform: TableEncoding | None = None
        self._features: Array | None = None
        self._batches: list[pa.RecordBatch] | None = None  # of the features, when they were read with the labels
        if one_pass:
            small, self._batches = table.read_with_features(row_columns(columns), columns.features)
        else:
            small = table.read(row_columns(columns))
        n_rows = None if self._batches is None else sum(batch.num_rows for batch in self._batches)
        values = row_values(table, small, columns, labels, n_rows)
        self.texts = values.texts
        self.labels = check_labels(values.labels, by=self.name, n_rows=values.n_rows)
        self.ids = self._checked_ids(values.ids, values.n_rows)
        if one_pass and self._batches is None and not columns.is_matrix:  # they are read to find their roles
            self._batches = list(table.stream(columns.features, CHUNK_ROWS))

    def _checked_ids(self, ids: Array | None, n_rows: int) -> Array:
        try:
            return check_ids(ids, n_rows, by=self.name)
        except InvalidData as error:
            if self.columns.id is None:
                raise
            advice = f"choose another column with --id-column, or none with --leave-out {self.columns.id}"
            raise InvalidData(f"{error}; {advice}") from None

    def is_matrix(self) -> bool:
        """Whether the features are one matrix of complete numbers, to be used as they are.

        By types and names it is one: a column of lists, or numbered columns with spreads of the same order. Tables
        of a few rows are taken as they are too, if they can be: there is nothing to learn a scale from.
        """
        types = dict(zip(self.table.schema.names, self.table.schema.types, strict=True))
        if not all(is_number(types[name]) for name in self._used):
            return self.columns.is_matrix
        few = len(self) < MIN_ROWS and not self.columns.choices.categories
        if not few and not self.columns.is_matrix:
            return False
        if self._batches is not None:
            gaps = any(column.null_count for batch in self._batches for column in batch.columns)
        else:
            gaps = self.table.has_gaps(self._used)
        if gaps or few:
            return not gaps
        first = self._batches[0] if self._batches else self.table.head(self._used)
        return first is None or first.num_rows < MIN_ROWS or comparable_scales([*map(as_floats, first.columns)])

    def with_matrix(self, encoding: TableEncoding) -> "TableSource":
        """This source with only those columns that the encoding uses as they are."""
        self._used, self.encoding = encoding.columns, encoding
        return self

    def encoded_by(self, encoding: TableEncoding) -> "EncodedTableSource":
        """The same rows, encoded like other rows: those that a model was trained on."""
        return EncodedTableSource(self, encoding)

    def column_encoding(self) -> TableEncoding | None:
        """How each column became features, also of numbers that are used as they are.

        None for what is rather an embedding: a column of lists, or many numbered columns.
        """
        if self.encoding is not None and not self.encoding.is_as_is:
            return self.encoding
        types = dict(zip(self.table.schema.names, self.table.schema.types, strict=True))
        if len(self._used) > MAX_READABLE or not all(is_number(types[name]) for name in self._used):
            return None
        left_out = {} if self.encoding is None else self.encoding.left_out
        return TableEncoding(tuple(NumberEncoder(name, as_is=True) for name in self._used), left_out)

    def fit_encoding(self) -> TableEncoding:
        """The roles of the columns, and how they become numbers."""
        names = self.columns.features
        schema = pa.schema([self.table.schema.field(name) for name in names])
        encoding = fit_encoding(
            lambda: joined_batches(self.batches_of(names)),
            schema,
            labels=class_numbers(self.labels),
            choices=self.columns.choices,
        )
        refused = [name for name in encoding.left_out if name in self.columns.choices.features]
        if refused:
            raise InvalidData(
                f"{self.name}: the column {refused[0]!r} cannot be a feature ({encoding.left_out[refused[0]]}); "
                "leave it out of --feature-column"
            )
        notes = encoding.notes
        if self.columns.embeds_text:
            notes = (f"the texts of {self.columns.text} are embedded beside them", *notes)
        return replace(encoding, notes=notes, left_out={**encoding.left_out, **self.columns.skipped})

    def batches_of(
        self, names: Sequence[str], rows: int = CHUNK_ROWS, *, mapped: bool = True
    ) -> Iterable[pa.RecordBatch]:
        """The columns of these names: those in memory, else from the file."""
        if self._batches is not None:
            return [batch.select(list(names)) for batch in self._batches]
        return self.table.stream(names, rows, mapped=mapped)

    def features(self) -> Array:
        """All features; not copied when they are one list column in one piece of memory, or of a mapped file."""
        if self._features is None:
            self._features = stack(self._chunks(CHUNK_ROWS), len(self))
            self._batches = None
        return self._features

    def reader(self) -> Reader:
        """A reader of the feature columns, which opens the file anew."""
        return TableReader(self.table, self._used, name=self.name, encoding=self._transform)

    def _blocks(self, rows: int) -> Iterator[Array]:
        if self._features is not None:
            return super()._blocks(rows)
        return regroup(self._chunks(rows, mapped=False), rows)

    def _chunks(self, rows: int, *, mapped: bool = True) -> Iterator[Array]:
        """The features in arrays of any length, as the table's batches come; their number is checked."""
        n_seen = 0
        for chunk in _features(
            lambda: self.batches_of(self._used, rows, mapped=mapped), self._transform, by=self.name
        ):
            n_seen += len(chunk)
            if n_seen <= len(self):
                yield chunk
        if n_seen != len(self):
            raise InvalidData(
                f"{self.name} has {n_seen} rows of features for {len(self)} labels; "
                "the file is damaged or was changed after it was opened, so open it again"
            )


class EncodedTableSource(TableSource):
    """Rows of a table with columns of several kinds, which an encoding turns into numbers.

    The hash is one of the cells, not of the encoded features: it does not change when a role is found otherwise.
    """

    encoding: TableEncoding

    def __init__(self, source: TableSource, encoding: TableEncoding) -> None:
        vars(self).update(vars(source))
        self.encoding = self._transform = encoding
        self._used = encoding.columns
        self.embeds_texts = source.columns.embeds_text

    def kind(self) -> tuple[int, np.dtype[Any]]:
        """As the encoding gives them."""
        return len(self.encoding.feature_names), np.dtype(np.float64)

    def data_hash(self) -> str:
        """A fingerprint of labels and cells, and of the texts that are embedded."""
        content = self.encoding.content_hash
        if self.embeds_texts and self.texts is not None:
            content += fingerprint(np.array([0]), (text_bytes(text) for text in self.texts))
        return fingerprint(self.labels, content)


def _features(batches: Stream, encoding: TableEncoding | None, *, by: str) -> Iterator[Array]:
    """The batches as arrays of numbers."""
    if encoding is None:
        yield from blocks(batches, by=by)
        return
    for batch in joined_batches(batches()):
        yield encoding.transform(batch, by=by)
