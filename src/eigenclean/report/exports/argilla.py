"""Records for Argilla 2: a list that ``dataset.records.from_json`` reads."""

from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean.report.exports.rows import Rows, write_json_list

QUESTION = "label"


def to_argilla(rows: Rows, path: Path) -> None:
    """One record per sample: the text (or the image's path), the suggestion, and what is known as metadata.

    The data set that takes them has a field ``text`` (or ``image``) and a ``LabelQuestion`` named ``label``.
    """
    texts, files = rows.texts(), rows.files()
    if texts is None and files is None:
        raise InvalidData(
            "argilla shows texts or images, and this run has neither: name the texts with --text-column when you "
            "run detect, or the folder that the ids are files in with --images"
        )
    field = "image" if texts is None else "text"
    contents = texts if texts is not None else [str(file) for file in files or ()]
    write_json_list(path, (_record(row, field, value) for row, value in zip(rows, contents, strict=True)))


def _record(row: dict[str, Any], field: str, value: str) -> dict[str, Any]:
    suggestion = {"value": str(row["suggested_label"]), "score": row["suggested_confidence"], "agent": "eigenclean"}
    return {
        "id": str(row["id"]),
        "fields": {field: value},
        "metadata": {
            "given_label": str(row["given_label"]),
            "label_score": row["label_score"],
            "is_label_issue": str(row["is_label_issue"]).lower(),
        },
        "suggestions": {QUESTION: suggestion},
        "responses": {},
        "vectors": {},
    }
