"""Right labels from a file, and the quality of a verdict against them."""

import dataclasses
import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, check_ids, check_labels, preview
from eigenclean.errors import InvalidData
from eigenclean.files import reading_arrays
from eigenclean.metrics.detection import DetectionQuality, detection_quality
from eigenclean.truth import Truth
from eigenclean.verdict import Verdict


def read_truth(path: str | os.PathLike[str], ids: ArrayLike | None = None) -> Truth:
    """The right labels in a ``.npy`` or ``.npz`` file, in the order of ``ids``.

    A ``.npz`` file has them as the array ``clean`` or ``labels`` (``clean`` if both are there, because ``labels``
    are then the given ones). If it also has ``ids``, rows are matched by id and it may hold more rows than are
    asked for; otherwise rows are matched by position.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/truth.npz", labels=["cat", "dog", "elk"], ids=[7, 8, 9])
    ...     print(read_truth(f"{folder}/truth.npz", ids=[9, 7]).labels)
    ['elk' 'cat']
    """
    path = Path(path)
    labels, file_ids = _read(path)
    labels = check_labels(labels, by=str(path))
    if len(labels) == 0:
        raise InvalidData(f"{path} must have at least one label, it has none")
    if ids is None:
        return Truth(labels)
    row_ids = np.asarray(ids)
    if file_ids is not None:
        return Truth(labels[_rows_of(row_ids, check_ids(file_ids, len(labels), by=str(path)), path)])
    if len(labels) != len(row_ids):
        raise InvalidData(f"{path} must have one label for each of the {len(row_ids)} rows, got {len(labels)}")
    return Truth(labels)


def score_verdict(verdict: Verdict, truth: Truth) -> DetectionQuality:
    """Quality measures of the verdict; the rows of both must be in the same order.

    >>> verdict = Verdict(
    ...     ids=np.arange(3), labels=np.array([0, 0, 1]), score=np.array([0.9, 0.2, 0.8]),
    ...     p_clean=np.array([0.99, 0.03, 0.95]), flagged=np.array([False, True, False]),
    ...     suggested=np.array([0, 1, 1]), suggested_confidence=np.array([0.99, 0.9, 0.95]),
    ... )
    >>> quality = score_verdict(verdict, Truth(np.array([0, 1, 1])))
    >>> quality.f, quality.suggestion_accuracy
    (1.0, 1.0)
    """
    clean = truth.is_clean(verdict.labels)
    quality = detection_quality(verdict.flagged, verdict.p_clean, clean, verdict.score, verdict.noise_rate)
    correctly_flagged = verdict.flagged & ~clean
    if not correctly_flagged.any():
        return quality
    right = float(np.mean(truth.is_clean(verdict.suggested)[correctly_flagged]))
    return dataclasses.replace(quality, suggestion_accuracy=right)


def _read(path: Path) -> tuple[Array, Array | None]:
    if path.suffix not in (".npy", ".npz"):
        raise InvalidData(f"truth must be a .npy or .npz file, got {path}")
    if not path.is_file():
        raise InvalidData(f"there is no truth file {path}")
    with reading_arrays(path, "labels") as content:
        if isinstance(content, np.ndarray):
            return content, None
        names = [name for name in ("clean", "labels") if name in content]
        if not names:
            available = ", ".join(content) or "nothing"
            raise InvalidData(f"{path} must have an array 'clean' or 'labels', it has {available}")
        return content[names[0]], content.get("ids")


def _rows_of(row_ids: Array, file_ids: Array, path: Path) -> Array:
    """For each of the row ids, its position among the ids of the file."""
    if row_ids.dtype.kind != file_ids.dtype.kind and {row_ids.dtype.kind, file_ids.dtype.kind} & set("US"):
        raise InvalidData(f"{path} has ids of type {file_ids.dtype}, but the rows have ids of type {row_ids.dtype}")
    order = np.argsort(file_ids)
    rows = order[np.minimum(np.searchsorted(file_ids, row_ids, sorter=order), len(file_ids) - 1)]
    unknown = file_ids[rows] != row_ids
    if unknown.any():
        raise InvalidData(
            f"{path} has no label for {int(unknown.sum())} of the {len(row_ids)} rows, such as the ids "
            f"{preview(row_ids[unknown], most=3)}"
        )
    return np.asarray(rows)
