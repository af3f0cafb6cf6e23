"""Excel files: the first sheet, with a header in its first row."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from eigenclean.extras import require
from eigenclean.sources.read_errors import explain_read_errors
from eigenclean.sources.tabular.cells import column_of
from eigenclean.sources.tabular.table import Table


class ExcelTable(Table):
    """The rows of the first sheet, in memory; formulas count as the values that were saved with them.

    Attributes:
        row_numbers: the numbers of the rows in the sheet, from 1 on, without the header.
    """

    def __init__(self, path: Path, *, name: str) -> None:
        self.name = name
        openpyxl: Any = require("openpyxl", extra="excel", caller=f"reading {name}")
        with (
            explain_read_errors(name, "Excel file"),
            closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book,
        ):
            rows = [
                (number, row)
                for number, row in enumerate(book.worksheets[0].iter_rows(values_only=True), start=1)
                if any(_has_value(cell) for cell in row)
            ]
        self._table = _columns([row for _, row in rows])
        self.row_numbers = [number for number, _ in rows[1:]]
        self._schema = self._table.schema

    def stream(self, columns: Sequence[str], rows: int, *, mapped: bool = True) -> Iterator[pa.RecordBatch]:
        """Slices of the columns."""
        yield from self._table.select(list(columns)).to_batches()


def _columns(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    if not rows:
        return pa.table({})
    width = max((number + 1 for row in rows for number, cell in enumerate(row) if _has_value(cell)), default=0)
    names = ["" if cell is None else str(cell) for cell in rows[0][:width]]
    names += [""] * (width - len(names))
    cells = [[row[number] if number < len(row) else None for row in rows[1:]] for number in range(width)]
    return pa.Table.from_arrays([column_of(column) for column in cells], names=names)


def _has_value(cell: Any) -> bool:
    return cell is not None and cell != ""
