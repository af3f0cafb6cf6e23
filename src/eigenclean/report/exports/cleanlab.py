"""The frame that users of cleanlab know, as its ``Datalab.get_issues("label")`` gives it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from eigenclean.files import replacing
from eigenclean.report.exports.rows import Rows
from eigenclean.verdict import write_csv

COLUMNS = {
    "is_label_issue": "is_label_issue",
    "label_score": "label_score",
    "given_label": "given_label",
    "predicted_label": "suggested_label",
}


def to_cleanlab(rows: Rows, path: Path) -> None:
    """The frame of cleanlab: ``is_label_issue, label_score, given_label, predicted_label``, a row per sample."""
    table = rows.table()
    renamed = pa.table({name: table.column(column) for name, column in COLUMNS.items()})
    if path.suffix.lower() == ".parquet":
        with replacing(path) as temporary:
            pq.write_table(renamed, temporary)
    else:
        write_csv(renamed, path)
