"""The files of a verdict: Parquet, whole or in groups of rows, and CSV in which no cell is a formula."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from eigenclean.arrays import Ints
from eigenclean.files import replacing, write_text

if TYPE_CHECKING:
    from eigenclean.verdict.record import Verdict

FILE = "verdict.parquet"
SUMMARY = "summary.json"
CSV = "verdict.csv"


class RowGroups:
    """Writes a verdict in groups of rows, one after the other, to a new file; used as a context manager."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> "RowGroups":
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, rows: "Verdict", rank: Ints) -> None:
        """Append one group of rows, with their ranks in the whole verdict."""
        table = rows.to_frame(rank)
        if self._writer is None:
            self._writer = pq.ParquetWriter(str(self._path), table.schema)
        self._writer.write_table(table)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table of `Verdict.to_frame` as a Parquet file, whole or not at all."""
    with replacing(path) as temporary:
        pq.write_table(table, temporary)


# What a spreadsheet takes for a formula and carries out, after characters that it does not see.
_FORMULA = r"^([\pZ\pC]*[=+\-@＝＋－＠]|[\t\r\n])"


def write_csv(table: pa.Table, path: Path, *, byte_order_mark: bool = False) -> None:
    """Write a table as CSV in which no cell is a formula, whole or not at all; the exact values are in the Parquet
    file.

    Text that a spreadsheet would evaluate gets an apostrophe before it. With ``byte_order_mark``, spreadsheets read
    the file as UTF-8.
    """
    columns = {
        name: pc.replace_substring_regex(column, _FORMULA, r"'\1") if is_text(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    with replacing(path) as temporary, open(temporary, "wb") as file:
        file.write(b"\xef\xbb\xbf" * byte_order_mark)
        pyarrow.csv.write_csv(pa.table(columns), file)


def write_verdict(
    verdict: "Verdict", folder: Path, summary: str, *, csv: bool = False, written: Path | None = None
) -> None:
    """Write the files of `Verdict.save` into the empty folder of a `publication`."""
    if written is None:
        pq.write_table(verdict.to_frame(), folder / FILE)
    else:
        os.replace(written, folder / FILE)
    if csv:
        write_csv(verdict.to_frame(), folder / CSV)
    write_text(folder / SUMMARY, summary)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
