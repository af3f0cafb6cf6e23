"""A map of the data: two principal components of a sample of the features."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Floats, Ints
from eigenclean.detect.value_range import is_in_range, largest_magnitude, scale
from eigenclean.errors import InvalidData
from eigenclean.report.formatting import plain
from eigenclean.report.sections.base import ReportInput
from eigenclean.verdict import Verdict

MAX_POINTS = 2500
MAX_SUSPECTS = 500  # suspects that are always among the points, however rare they are
_MAX_BYTES = 1 << 28
_ITERATIONS = 12


def feature_map(inputs: ReportInput) -> dict[str, Any] | None:
    """Points of a fixed random sample and of the worst suspects, in [0, 1] x [0, 1]; None without features."""
    verdict, classes, features = inputs.verdict, inputs.classes, inputs.features
    if features is None or len(verdict) == 0:
        return None
    if callable(features):
        rows = _sample_rows(verdict, MAX_POINTS)
        block = np.asarray(features(rows))
    else:
        rows, block = _sample(verdict, features)
    points, explained = project(_single_precision(block))
    p_wrong = 1.0 - np.nan_to_num(np.asarray(verdict.p_clean)[rows], nan=0.5)
    flagged = np.asarray(verdict.flagged)[rows]
    given = classes.given[rows]
    suggested = given.copy()
    suggested[flagged] = classes.suggested[np.searchsorted(classes.flagged, rows[flagged])]
    return {
        "n_points": len(rows),
        "explained": explained,
        "x": points[:, 0].round(4).tolist(),
        "y": points[:, 1].round(4).tolist(),
        "given": given.tolist(),
        "suggested": suggested.tolist(),
        "flagged": flagged.tolist(),
        "p_wrong": p_wrong.astype(float).round(3).tolist(),
        "ids": [plain(verdict.ids[row].item(), 80) for row in rows.tolist()],
        "labels": {str(k): classes.names[k] for k in np.union1d(given, suggested).tolist()},
        "n_classes": classes.n_given,
    }


def _sample(verdict: Verdict, features: ArrayLike) -> tuple[Ints, Array]:
    table = features if isinstance(features, np.ndarray) else np.asarray(features)
    if len(table) != len(verdict) or table.ndim < 2 or table.dtype.kind not in "fiub":
        raise InvalidData(
            f"report: features must be numbers, one row for each of the {len(verdict)} labels, "
            f"got shape {table.shape} of type {table.dtype}"
        )
    width = int(np.prod(table.shape[1:]))
    rows = _sample_rows(verdict, min(MAX_POINTS, max(2, _MAX_BYTES // (4 * max(1, width)))))
    return rows, table[rows].reshape(len(rows), width)


def _single_precision(block: Array) -> Floats:
    """Finite numbers in float32; those whose squares would not fit into it are scaled, as detectors do."""
    block = np.nan_to_num(block, nan=0.0, posinf=0.0, neginf=0.0)
    largest = largest_magnitude(block)
    if not is_in_range(largest, np.dtype(np.float32)):
        block = scale(block, int(np.frexp(largest)[1]))
    return block.astype(np.float32)


def project(block: Floats) -> tuple[Floats, float]:
    """The rows, at unit length, on their first two principal axes in the unit square; and the share these explain.

    >>> points, explained = project(np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0]], dtype=np.float32))
    >>> points.min() >= 0 and points.max() <= 1, round(explained, 3)
    (np.True_, 1.0)
    """
    length = np.linalg.norm(block, axis=1, keepdims=True)
    block = block / np.where(length > 0, length, 1)
    block -= block.mean(axis=0)
    # Subspace iteration: two of a thousand axes do not need a full decomposition.
    basis = np.random.default_rng(0).standard_normal((block.shape[1], min(8, *block.shape)), dtype=np.float32)
    for _ in range(_ITERATIONS):
        basis = np.linalg.qr(block.T @ (block @ basis))[0]
    inner = block @ basis
    values, rotation = np.linalg.eigh((inner.T @ inner).astype(np.float64))
    rotation = rotation[:, ::-1][:, :2]
    points = np.zeros((len(block), 2))
    points[:, : rotation.shape[1]] = inner @ rotation
    points *= np.where(np.abs(points.max(axis=0)) < np.abs(points.min(axis=0)), -1, 1)  # a fixed sign convention
    total = float(np.sum(block**2, dtype=np.float64))
    explained = float(values[::-1][:2].sum()) / total if total > 0 else 0.0
    low, high = points.min(axis=0), points.max(axis=0)
    return (points - low) / np.where(high > low, high - low, 1), min(1.0, explained)


def _sample_rows(verdict: Verdict, max_rows: int) -> Ints:
    """All rows if they are at most ``max_rows``; otherwise a uniform sample and the worst suspects."""
    if len(verdict) <= max_rows:
        return np.arange(len(verdict))
    suspects = verdict.suspects(min(MAX_SUSPECTS, max_rows // 5))
    # Drawing with replacement and dropping repeats costs less than permuting all rows.
    drawn = np.random.default_rng(0).integers(0, len(verdict), 2 * max_rows)
    rows = dict.fromkeys(suspects.tolist())
    for row in drawn.tolist():
        if len(rows) == max_rows:
            break
        rows[row] = None
    return np.array(sorted(rows), dtype=np.intp)
