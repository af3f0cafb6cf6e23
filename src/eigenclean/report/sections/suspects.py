"""The worst suspects: a gallery of images or texts, or a table where there is neither."""

from typing import Any

import numpy as np

from eigenclean.report.formatting import plain
from eigenclean.report.sections.base import ReportInput, finite
from eigenclean.report.thumbnails import thumbnails

MAX_SUSPECTS = 60
MAX_DOUBTFUL = 20  # shown where no label is flagged


def suspects(inputs: ReportInput) -> dict[str, Any]:
    """The flagged labels with the lowest P(right), worst first; where none is flagged, the most doubtful ones."""
    verdict, classes, texts = inputs.verdict, inputs.classes, inputs.texts
    if len(classes.flagged):
        rows = verdict.suspects(MAX_SUSPECTS)
        suggested = classes.suggested[np.searchsorted(classes.flagged, rows)].tolist()
    else:  # a label that is not flagged has no suggestion
        rows = verdict.most_doubtful(MAX_DOUBTFUL)
        suggested = classes.given[rows].tolist()
    images = [None] * len(rows) if inputs.images is None else thumbnails(inputs.images, rows)
    cards = [
        {
            "id": plain(verdict.ids[row].item()),
            "given": classes.names[classes.given[row]],
            "given_code": int(classes.given[row]),
            "suggested": classes.names[suggestion] if suggestion != classes.given[row] else None,
            "p_wrong": float(inputs.p_wrong[row]),
            "score": finite(verdict.score[row]),
            "confidence": finite(verdict.suggested_confidence[row]),
            "image": image,
            "text": plain(texts[row], 280) if texts is not None else None,
        }
        for row, suggestion, image in zip(rows.tolist(), suggested, images, strict=True)
    ]
    given = sorted({(card["given_code"], card["given"]) for card in cards})
    return {
        "cards": cards,
        "classes": [{"code": code, "label": label} for code, label in given],
        "n_flagged": len(classes.flagged),
        "kind": "cards" if inputs.images is not None or texts is not None else "table",
    }
