"""CSV and TSV files with a header line, of any separator, perhaps compressed."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from eigenclean.errors import InvalidData
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.columns import (
    ID_NAMES,
    IMAGE_NAMES,
    LABEL_NAMES,
    TEXT_NAMES,
    ColumnOptions,
    is_number,
)
from eigenclean.sources.tabular.dialect import read_dialect
from eigenclean.sources.tabular.table import Table

_MISSING = f"^({'|'.join(map(re.escape, pyarrow.csv.ConvertOptions().null_values or []))})$"
_KINDS = (
    (pa.int64(), r"^-?(0|[1-9][0-9]*)$"),  # 007 is a name, not a number
    (pa.bool_(), r"^(true|True|TRUE|false|False|FALSE)$"),
    (pa.float64(), r"^-?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?$"),
)
_BLOCK_BYTES = 1 << 24  # the longest line that can be read; types are inferred from so many bytes
_USUAL_BLOCK_BYTES = 1 << 20  # stays in the cache of a core, which halves the time
_LINES_PER_BLOCK = 128  # but every block has so many lines: each costs some work per column
_ROW_COLUMNS = frozenset((*LABEL_NAMES, *ID_NAMES, *TEXT_NAMES, *IMAGE_NAMES))  # read as they are written


class CsvTable(Table):
    """The columns of one CSV file; numbers are float64 when they are streamed.

    A file is parsed as a whole, whatever columns are wanted. `prepared` does it once, with labels, ids and texts as
    they are written and all other types inferred. Larger files are streamed, once for the labels and then for every
    pass over the features; the types are those of the first block.

    Attributes:
        dialect: how the file is written.
    """

    def __init__(self, path: Path, *, name: str) -> None:
        self.name = name
        is_tsv = any(suffix.lower() == ".tsv" for suffix in path.suffixes[-2:])
        self.dialect = read_dialect(path, name=name, default="\t" if is_tsv else ",")
        self._path = path
        self._parse_options = pyarrow.csv.ParseOptions(
            delimiter=self.dialect.delimiter,
            newlines_in_values=True,  # texts have line breaks
        )
        self._inferred: pa.Schema | None = None
        self._prepared: _PreparedColumns | None = None
        block_bytes = max(_USUAL_BLOCK_BYTES, _LINES_PER_BLOCK * self.dialect.line_bytes)
        self._block_bytes = min(_BLOCK_BYTES, block_bytes)

    @property
    def schema(self) -> pa.Schema:
        """Names and types, from the first block unless the whole file was parsed."""
        if self._inferred is None:
            with self._explained():
                options = None if self.dialect.decimal_point == "." else self._convert_options()
                self._inferred = self._open(options, _BLOCK_BYTES).schema
                _ = self._inferred.names  # decoded only now, and they may be damaged too
        return self._inferred

    @contextmanager
    def prepared(self, options: ColumnOptions) -> Iterator[None]:
        """Parse the file, and hold its columns with types that suit all their rows."""
        named = (options.label_column, options.id_column, options.text_column, options.image_column)
        texts = {*_ROW_COLUMNS, *(name for name in named if name is not None)}
        with self._explained():
            table = self._parse(self._convert_options(column_types=dict.fromkeys(texts, pa.string())))
            self._prepared = _PreparedColumns.of(table, texts)
            self._inferred = self._prepared.schema
            del table
        try:
            yield
        finally:
            self._prepared = None

    def has_gaps(self, columns: Sequence[str]) -> bool:
        """Unknown without a pass over the file, so False: a gap is an error when it is read."""
        return False

    def head(self, columns: Sequence[str]) -> pa.RecordBatch | None:
        """None: a file that is not in memory is parsed only when it has to be."""
        return None

    def stream(self, columns: Sequence[str], rows: int, *, mapped: bool = True) -> Iterator[pa.RecordBatch]:
        """Blocks of the file, never the whole of it."""
        options = self._convert_options(include_columns=list(columns), column_types=self._types(columns))
        n_seen = 0
        with self._explained():
            try:
                for batch in self._open(options, self._block_bytes):
                    yield batch
                    n_seen += batch.num_rows
                return
            except pa.ArrowInvalid as error:
                self._enlarge_blocks(error)
            for batch in self._open(options, self._block_bytes):
                n_skipped = min(n_seen, batch.num_rows)
                n_seen -= n_skipped
                if n_skipped < batch.num_rows:
                    yield batch.slice(n_skipped)

    def read(self, columns: Sequence[str]) -> pa.Table:
        """The columns with types that suit all their rows: labels may be 1, 2, 3 and then "none"."""
        if not columns:
            return pa.schema([]).empty_table()
        if self._prepared is not None and self._prepared.has_texts(columns):
            return self._prepared.row_columns(columns)
        return _infer_types(self.read_texts(columns))

    def read_with_features(
        self, columns: Sequence[str], features: Sequence[str]
    ) -> tuple[pa.Table, list[pa.RecordBatch] | None]:
        """Both in one pass over the file, because a CSV file is parsed as a whole whatever columns are wanted."""
        if self._prepared is not None and self._prepared.has_texts(columns):
            return self._prepared.row_columns(columns), self._prepared.features(features)
        try:
            types = {**dict.fromkeys(columns, pa.string()), **self._types(features)}
            with self._explained():
                table = self._read(types)
        except InvalidData:  # labels may be read all the same; `stream` will say what is wrong with the features
            return self.read(columns), None
        return _infer_types(table.select(list(columns))), table.select(list(features)).to_batches()

    def read_texts(self, columns: Sequence[str]) -> pa.Table:
        """The columns as they are written."""
        with self._explained():
            return self._read(dict.fromkeys(columns, pa.string()))  # Arrow's own guess would make 7 of 007

    def _types(self, columns: Sequence[str]) -> dict[str, pa.DataType]:
        """Float64 for numbers: Arrow infers types from the first block, and 1 may be followed by 1.5 far below."""
        return {name: _streamed_type(self.schema.field(name).type) for name in columns}

    def _read(self, types: Mapping[str, pa.DataType]) -> pa.Table:
        """The columns with these types."""
        return self._parse(self._convert_options(include_columns=list(types), column_types=dict(types)))

    def _parse(self, options: pyarrow.csv.ConvertOptions) -> pa.Table:
        try:
            return self._parse_blocks(options)
        except pa.ArrowInvalid as error:
            self._enlarge_blocks(error)
        return self._parse_blocks(options)

    def _parse_blocks(self, options: pyarrow.csv.ConvertOptions) -> pa.Table:
        return pyarrow.csv.read_csv(
            str(self._path),
            read_options=self._read_options(self._block_bytes),
            parse_options=self._parse_options,
            convert_options=options,
        )

    def _open(self, options: pyarrow.csv.ConvertOptions | None, block_bytes: int) -> pyarrow.csv.CSVStreamingReader:
        return pyarrow.csv.open_csv(
            str(self._path),
            read_options=self._read_options(block_bytes),
            parse_options=self._parse_options,
            convert_options=options,
        )

    def _read_options(self, block_bytes: int) -> pyarrow.csv.ReadOptions:
        encoding = "utf8" if self.dialect.encoding == "utf-8" else self.dialect.encoding  # Arrow's name for its own
        return pyarrow.csv.ReadOptions(block_size=block_bytes, encoding=encoding)

    def _convert_options(self, **options: Any) -> pyarrow.csv.ConvertOptions:
        return pyarrow.csv.ConvertOptions(decimal_point=self.dialect.decimal_point, **options)

    def _enlarge_blocks(self, error: pa.ArrowInvalid) -> None:
        """Go on with the largest blocks if a line was too long for smaller ones; raise the error if not."""
        if not _is_too_long(error) or self._block_bytes >= _BLOCK_BYTES:
            raise error
        self._block_bytes = _BLOCK_BYTES

    @contextmanager
    def _explained(self) -> Iterator[None]:
        with explain_read_errors(self.name, "CSV file"):
            try:
                yield
            except pa.ArrowInvalid as error:
                if _is_too_long(error):
                    raise InvalidData(
                        f"{self.name} has a line of more than {_BLOCK_BYTES} bytes; shorten or drop it"
                    ) from None
                raise


@dataclass(frozen=True, eq=False)
class _PreparedColumns:
    """A parsed file.

    Attributes:
        columns: the columns, those that may be labels, ids or texts with types that suit all their rows.
        texts: which these are.
        schema: names and types.
    """

    columns: Mapping[str, "pa.ChunkedArray[Any]"]
    texts: frozenset[str]
    schema: pa.Schema

    @classmethod
    def of(cls, table: pa.Table, texts: Collection[str]) -> "_PreparedColumns":
        """The columns of a table that was parsed with ``texts`` as strings."""
        names, columns = table.column_names, table.columns
        for position, (name, column) in enumerate(zip(names, columns, strict=True)):
            if name in texts:
                columns[position] = _infer_type(column)
        schema = pa.schema([pa.field(name, column.type) for name, column in zip(names, columns, strict=True)])
        return cls(dict(zip(names, columns, strict=True)), frozenset(texts), schema)

    def has_texts(self, names: Sequence[str]) -> bool:
        """Whether all of these were read as they are written."""
        return self.texts.issuperset(names)

    def row_columns(self, names: Sequence[str]) -> pa.Table:
        """Labels, ids and texts."""
        return pa.Table.from_arrays([self.columns[name] for name in names], names=list(names))

    def features(self, names: Sequence[str]) -> list[pa.RecordBatch]:
        """Batches of numbers, as `CsvTable.stream` would give them."""
        columns = [self.columns[name] for name in names]
        numbers = [
            column if column.type == (kind := _streamed_type(column.type)) else column.cast(kind, safe=False)
            for column in columns
        ]
        return pa.Table.from_arrays(numbers, names=list(names)).to_batches()


def _is_too_long(error: pa.ArrowInvalid) -> bool:
    """Whether a line, perhaps with line breaks in it, is longer than a block."""
    return "straddling" in str(error)


def _streamed_type(kind: pa.DataType) -> pa.DataType:
    return pa.float64() if is_number(kind) and not pa.types.is_boolean(kind) else kind


def _infer_types(table: pa.Table) -> pa.Table:
    names = table.column_names
    return pa.Table.from_arrays([_infer_type(table.column(name)) for name in names], names=names)


def _infer_type(texts: "pa.ChunkedArray[Any]") -> "pa.ChunkedArray[Any]":
    """Integers, truth values or numbers when all texts are such, with gaps where they are missing; else texts."""
    missing = pc.match_substring_regex(texts, _MISSING)
    known: Any = pc.if_else(missing, pa.nulls(1, pa.string())[0], texts)  # pa.scalar would import pandas
    known = pc.utf8_trim_whitespace(known)  # as Arrow does with numbers
    for kind, pattern in _KINDS:
        if pc.all(pc.match_substring_regex(known, pattern)).as_py() is not False:
            try:
                typed: pa.ChunkedArray[Any] = known.cast(kind)
                return typed
            except pa.ArrowInvalid:  # more digits than a number can have, or none
                return texts
    return texts
