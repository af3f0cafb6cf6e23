"""The frame that users of cleanlab know, as its ``Datalab.get_issues("label")`` gives it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from eigenclean.files import replacing
from eigenclean.report.exports.rows import Rows

COLUMNS = {
    "is_label_issue": "is_label_issue",
    "label_score": "label_score",
    "given_label": "given_label",
    "predicted_label": "suggested_label",
}


def to_cleanlab(rows: Rows, path: Path) -> None:
    """``is_label_issue, label_score, given_label, predicted_label``, one row per sample, in order."""
    frame = rows.verdict.to_frame().take(rows.rows.tolist())
    renamed = pa.table({name: frame.column(column) for name, column in COLUMNS.items()})
    with replacing(path) as temporary:
        if path.suffix.lower() == ".parquet":
            pq.write_table(renamed, temporary)
        else:
            pyarrow.csv.write_csv(renamed, str(temporary))
