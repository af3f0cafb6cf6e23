"""Tasks for Label Studio: its basic JSON format, with the suggestion as a prediction."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

from eigenclean.errors import InvalidData
from eigenclean.report.exports.rows import Rows, write_json_list

CONTROL = "label"  # name of the <Choices> tag


def to_label_studio(rows: Rows, path: Path) -> None:
    """One task per sample: what to show, the given label, the suggested one as a prediction.

    The labelling interface that goes with it has ``<Text name="text" value="$text"/>`` and
    ``<Choices name="label" toName="text">``; for images, ``image`` instead of ``text``. Images are what it calls
    local files, relative to the root of the file system.
    """
    content, shown = _content(rows)
    write_json_list(path, (_task(row, content, value) for row, value in zip(rows, shown, strict=True)))


def _content(rows: Rows) -> tuple[str, list[str]]:
    texts = rows.texts()
    if texts is not None:
        return "text", texts
    files = rows.files()
    if files is None:
        raise InvalidData(
            "label-studio shows texts or images, and this run has neither: name the texts with --text-column when "
            "you run detect, or the folder that the ids are files in with --images"
        )
    return "image", [f"/data/local-files/?d={quote(file.resolve().as_posix().lstrip('/'))}" for file in files]


def _task(row: dict[str, Any], content: str, value: str) -> dict[str, Any]:
    result = {
        "from_name": CONTROL,
        "to_name": content,
        "type": "choices",
        "value": {"choices": [str(row["suggested_label"])]},
    }
    return {
        "data": {
            content: value,
            "id": str(row["id"]),
            "given_label": str(row["given_label"]),
            "label_score": row["label_score"],
        },
        "predictions": [{"model_version": "eigenclean", "score": row["suggested_confidence"], "result": [result]}],
    }
