"""Who said what: the labels of several annotators for the suspects of a run."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from eigenclean.paths import inside
from eigenclean.review.suspects import Suspects

FILE = "annotations.parquet"
_COLUMNS = ("id", "annotator", "label", "p_right")
_MAX_LABELS = 50  # of one suspect


def suspect_annotations(
    folder: Path, suspects: Suspects, *, follow_links: bool = False
) -> tuple[dict[int, list[dict[str, Any]]], list[str]]:
    """By position, each annotator's label and P(it is right); and what is missing, in sentences.

    Empty for a run with one label per row. The file may be somebody else's: what is not as expected is left out.
    """
    path = inside(folder, FILE, by="review", follow_links=follow_links)
    if not path.is_file():
        return {}, []
    try:
        with pq.ParquetFile(path) as file:
            table = file.read(columns=list(_COLUMNS))
        columns = [table.column(name).to_pylist() for name in _COLUMNS]
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        return {}, [f"Who said what cannot be shown: {path} cannot be read ({str(error).splitlines()[0]})."]
    labels_by_position: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for id, annotator, label, p_right in zip(*columns, strict=True):
        position = suspects.position.get(id) if isinstance(id, int | str) else None
        if position is not None and len(labels_by_position[position]) < _MAX_LABELS:
            share = round(float(p_right), 3) if isinstance(p_right, int | float) and 0 <= p_right <= 1 else None
            labels_by_position[position].append({"annotator": str(annotator), "label": str(label), "right": share})
    return dict(labels_by_position), []
