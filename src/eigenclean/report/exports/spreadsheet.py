"""CSV for spreadsheets: they read UTF-8 when it says so, and no cell is a formula."""

import csv
import io
from pathlib import Path
from typing import Any

from eigenclean.files import write_text
from eigenclean.report.exports.rows import Rows

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_BOM = "\ufeff"


def to_spreadsheet(rows: Rows, path: Path) -> None:
    """All columns of the verdict, and the texts if there are any."""
    texts = rows.texts()
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    for number, row in enumerate(rows):
        record = row if texts is None else {**row, "text": texts[number]}
        if number == 0:
            writer.writerow(record)
        writer.writerow([harmless(value) for value in record.values()])
    write_text(path, _BOM + buffer.getvalue())


def harmless(value: Any) -> Any:
    """The value, with an apostrophe before text that a spreadsheet would take for a formula and carry out.

    >>> harmless("=1+1"), harmless(" @SUM(A1)"), harmless("cat"), harmless(-1)
    ("'=1+1", "' @SUM(A1)", 'cat', -1)
    """
    if isinstance(value, str) and (value.startswith(_FORMULA) or value.lstrip().startswith(_FORMULA)):
        return f"'{value}"
    return value
