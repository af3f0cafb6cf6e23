"""CSV and TSV files with a header line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from eigenclean.errors import InvalidData
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.columns import is_number
from eigenclean.sources.tabular.table import Table

_MISSING = f"^({'|'.join(map(re.escape, pyarrow.csv.ConvertOptions().null_values or []))})$"
_KINDS = (
    (pa.int64(), r"^-?(0|[1-9][0-9]*)$"),  # 007 is a name, not a number
    (pa.bool_(), r"^(true|True|TRUE|false|False|FALSE)$"),
    (pa.float64(), r"^-?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?$"),
)
_BLOCK_BYTES = 1 << 24  # the longest line that can be read; types are inferred from the first block


class CsvTable(Table):
    """The columns of one CSV file; numbers are float64 when they are streamed.

    Attributes:
        delimiter: what separates the cells of a line.
    """

    def __init__(self, path: Path, *, name: str) -> None:
        self.name = name
        self.delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        self._path = path
        self._read_options = pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES)
        self._parse_options = pyarrow.csv.ParseOptions(
            delimiter=self.delimiter,
            newlines_in_values=True,  # texts have line breaks
        )
        with explain_read_errors(name, "CSV file"):
            self.schema = self._open(None).schema
            _ = self.schema.names  # decoded only now, and they may be damaged too

    def stream(self, columns: Sequence[str], rows: int, *, mapped: bool = True) -> Iterator[pa.RecordBatch]:
        """Blocks of the file, never the whole of it."""
        types = self._number_types(columns)
        options = pyarrow.csv.ConvertOptions(include_columns=list(columns), column_types=types)
        with explain_read_errors(self.name, "CSV file"):
            yield from self._open(options)

    def read(self, columns: Sequence[str]) -> pa.Table:
        """The columns with types that suit all their rows: labels may be 1, 2, 3 and then "none"."""
        if not columns:
            return pa.schema([]).empty_table()
        return _infer_types(self.read_texts(columns))

    def read_with_features(
        self, columns: Sequence[str], features: Sequence[str]
    ) -> tuple[pa.Table, list[pa.RecordBatch] | None]:
        """Both in one pass over the file, because a CSV file is parsed as a whole whatever columns are wanted."""
        try:
            table = self._read({**dict.fromkeys(columns, pa.string()), **self._number_types(features)}, features)
        except InvalidData:  # labels may be read all the same; `stream` will say what is wrong with the features
            return self.read(columns), None
        return _infer_types(table.select(list(columns))), table.select(list(features)).to_batches()

    def read_texts(self, columns: Sequence[str]) -> pa.Table:
        """The columns as they are written."""
        return self._read(dict.fromkeys(columns, pa.string()))  # Arrow's own guess would make 7 of 007

    def _number_types(self, columns: Sequence[str]) -> dict[str, pa.DataType]:
        """Float64 for numbers: Arrow infers types from the first block, and 1 may be followed by 1.5 far below."""
        return {
            name: pa.float64()
            for name in columns
            if is_number(kind := self.schema.field(name).type) and not pa.types.is_boolean(kind)
        }

    def _read(self, types: Mapping[str, pa.DataType], others: Sequence[str] = ()) -> pa.Table:
        """The columns with these types, and others with the types that Arrow infers."""
        columns = list(dict.fromkeys((*types, *others)))
        options = pyarrow.csv.ConvertOptions(include_columns=columns, column_types=dict(types))
        with explain_read_errors(self.name, "CSV file"):
            return pyarrow.csv.read_csv(
                str(self._path),
                read_options=self._read_options,
                parse_options=self._parse_options,
                convert_options=options,
            )

    def _open(self, options: pyarrow.csv.ConvertOptions | None) -> pyarrow.csv.CSVStreamingReader:
        return pyarrow.csv.open_csv(
            str(self._path),
            read_options=self._read_options,
            parse_options=self._parse_options,
            convert_options=options,
        )


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
