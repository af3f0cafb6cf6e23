"""CSV for spreadsheets: they read UTF-8 when it says so, and no cell is a formula."""

from pathlib import Path

import pyarrow as pa

from eigenclean.report.exports.rows import Rows
from eigenclean.verdict import write_csv


def to_spreadsheet(rows: Rows, path: Path) -> None:
    """For spreadsheets: all columns of the verdict, and the texts if there are any."""
    table = rows.table()
    texts = rows.texts()
    if texts is not None:
        # Arrow refuses half of a surrogate pair; it is written as an escape, as everywhere.
        written = [text.encode("utf-8", "backslashreplace") for text in texts]
        table = table.append_column("text", pa.array(written, type=pa.binary()).cast(pa.string()))
    write_csv(table, path, byte_order_mark=True)
