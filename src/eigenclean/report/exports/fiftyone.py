"""Labels for FiftyOne: the ``labels.json`` of its ``FiftyOneImageClassificationDataset``."""

import json
import math
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean.files import write_text
from eigenclean.report.exports.rows import Rows


def to_fiftyone(rows: Rows, path: Path) -> None:
    """The given label of every image, by its absolute path; what the verdict says is in the label's attributes.

    ``mistakenness`` is what FiftyOne calls the probability that a label is wrong.
    """
    files = rows.files()
    if files is None:
        raise InvalidData(
            "fiftyone shows image files, and this run has none: name the folder that the ids are files in with "
            "--images"
        )
    labels = {file.resolve().as_posix(): _classification(row) for row, file in zip(rows, files, strict=True)}
    content = {"classes": rows.classes, "labels": labels}
    write_text(path, json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def _classification(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "label": str(row["given_label"]),
        "attributes": {
            "eigenclean_id": str(row["id"]),
            "is_label_issue": row["is_label_issue"],
            "mistakenness": _number(1.0 - row["label_score"]),
            "suggested_label": str(row["suggested_label"]),
            "suggested_confidence": _number(row["suggested_confidence"]),
        },
    }


def _number(value: float) -> float | None:
    """None for NaN, which JSON does not know."""
    return value if math.isfinite(value) else None
