"""CSV and TSV files with a header line."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from eigenclean.sources.reading import reading
from eigenclean.sources.tabular.columns import is_number
from eigenclean.sources.tabular.table import Rows

_MISSING = f"^({'|'.join(map(re.escape, pyarrow.csv.ConvertOptions().null_values or []))})$"
_KINDS = (
    (pa.int64(), r"^-?(0|[1-9][0-9]*)$"),  # 007 is a name, not a number
    (pa.bool_(), r"^(true|True|TRUE|false|False|FALSE)$"),
    (pa.float64(), r"^-?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?$"),
)
_BLOCK_BYTES = 1 << 24  # the longest line that can be read, and the part from which types are guessed


class CsvRows(Rows):
    """The columns of one CSV file; numbers are float64 when they are streamed."""

    def __init__(self, path: Path, *, name: str) -> None:
        self.name = name
        self._path = path
        self._read_options = pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES)
        self._parse_options = pyarrow.csv.ParseOptions(
            delimiter="\t" if path.suffix.lower() == ".tsv" else ",",
            newlines_in_values=True,  # texts have line breaks
        )
        with reading(name, "CSV file"):
            self.schema = self._open(None).schema
            _ = self.schema.names  # decoded only now, and they may be damaged too

    def stream(self, columns: Sequence[str], rows: int, *, mapped: bool = True) -> Iterator[pa.RecordBatch]:
        """Blocks of the file, never the whole of it."""
        # The first block fixes the types, and 1 may be followed by 1.5 a million lines later.
        kinds = {
            name: pa.float64()
            for name in columns
            if is_number(kind := self.schema.field(name).type) and not pa.types.is_boolean(kind)
        }
        options = pyarrow.csv.ConvertOptions(include_columns=list(columns), column_types=kinds)
        with reading(self.name, "CSV file"):
            yield from self._open(options)

    def read(self, columns: Sequence[str]) -> pa.Table:
        """The columns with types that suit all their rows: labels may be 1, 2, 3 and then "none"."""
        if not columns:
            return pa.schema([]).empty_table()
        table = self.read_texts(columns)
        return pa.Table.from_arrays([_typed(table.column(name)) for name in columns], names=list(columns))

    def read_texts(self, columns: Sequence[str]) -> pa.Table:
        """The columns as they are written."""
        texts = {name: pa.string() for name in columns}  # Arrow's own guess would make 7 of 007
        options = pyarrow.csv.ConvertOptions(include_columns=list(columns), column_types=texts)
        with reading(self.name, "CSV file"):
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


def _typed(texts: "pa.ChunkedArray[Any]") -> "pa.ChunkedArray[Any]":
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
