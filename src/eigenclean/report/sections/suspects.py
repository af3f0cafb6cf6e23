"""The worst suspects: a gallery of images or texts, or a table where there is neither."""

from typing import Any

import numpy as np

from eigenclean.report.formatting import plain
from eigenclean.report.sections.base import ReportInput, finite
from eigenclean.report.thumbnails import thumbnails


def suspects(inputs: ReportInput) -> dict[str, Any]:
    """The flagged labels with the lowest P(right), worst first; where none is flagged, the most doubtful ones."""
    verdict, classes, texts = inputs.verdict, inputs.classes, inputs.texts
    rows, none = inputs.listed, verdict.is_none
    if len(classes.flagged):
        suggested = classes.suggested[np.searchsorted(classes.flagged, rows)].tolist()
    else:  # a label that is not flagged has no suggestion
        suggested = classes.given[rows].tolist()
    images = [None] * len(rows) if inputs.images is None else thumbnails(inputs.images, rows)
    against: list[list[dict[str, Any]]] = [[] for _ in rows]
    if inputs.table is not None:
        flagged = np.asarray(verdict.flagged, dtype=bool)
        against = inputs.table.against(rows, classes.given, flagged, classes.n_given)
    cards = [
        {
            "id": plain(verdict.ids[row].item()),
            "given": classes.names[classes.given[row]],
            "given_code": int(classes.given[row]),
            "suggested": classes.names[suggestion] if suggestion != classes.given[row] else None,
            "is_none": bool(none[row]),
            "p_wrong": float(inputs.p_wrong[row]),
            "score": finite(verdict.score[row]),
            "confidence": finite(verdict.suggested_confidence[row]),
            "image": image,
            "text": plain(texts[row], 280) if texts is not None else None,
            "against": columns,
        }
        for row, suggestion, image, columns in zip(rows.tolist(), suggested, images, against, strict=True)
    ]
    given = sorted({(card["given_code"], card["given"]) for card in cards})
    return {
        "cards": cards,
        "classes": [{"code": code, "label": label} for code, label in given],
        "n_flagged": len(classes.flagged),
        "has_values": inputs.table is not None,
        "kind": "cards" if inputs.images is not None or texts is not None else "table",
    }
