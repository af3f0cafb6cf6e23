"""The features seen from the side where they spread most: two principal components of a sample."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Floats, Ints
from eigenclean.errors import InvalidData
from eigenclean.report.names import Names
from eigenclean.verdict import Verdict

MOST_POINTS = 2500
MOST_SUSPECTS = 500  # of these, chosen for being suspects: rare errors must not drown
_MOST_BYTES = 1 << 28
_ROUNDS = 12


Features = ArrayLike | Callable[[Ints], Array]  # all of them, or a function that fetches those of some rows


def plane(verdict: Verdict, names: Names, features: Features | None) -> dict[str, Any] | None:
    """Points of a fixed random sample and of the worst suspects, in [0, 1] x [0, 1]; None without features."""
    if features is None or len(verdict) == 0:
        return None
    if callable(features):
        rows = _sampled(verdict, MOST_POINTS)
        block = np.asarray(features(rows)).astype(np.float32)
    else:
        rows, block = _some(verdict, features)
    points, explained = principal_plane(np.nan_to_num(block, nan=0.0, posinf=0.0, neginf=0.0))
    p_wrong = 1.0 - np.nan_to_num(np.asarray(verdict.p_clean)[rows], nan=0.5)
    flagged = np.asarray(verdict.flagged)[rows]
    suggested = names.given[rows]
    suggested[flagged] = names.suggested[np.searchsorted(names.flagged, rows[flagged])]
    return {
        "n_points": len(rows),
        "explained": explained,
        "x": points[:, 0].round(4).tolist(),
        "y": points[:, 1].round(4).tolist(),
        "row": rows.tolist(),
        "given": names.given[rows].tolist(),
        "suggested": suggested.tolist(),
        "flagged": flagged.tolist(),
        "p_wrong": p_wrong.astype(float).round(3).tolist(),
    }


def _some(verdict: Verdict, features: ArrayLike) -> tuple[Ints, Floats]:
    table = features if isinstance(features, np.ndarray) else np.asarray(features)
    if len(table) != len(verdict) or table.ndim < 2 or table.dtype.kind not in "fiub":
        raise InvalidData(
            f"report: features must be numbers, one row for each of the {len(verdict)} labels, "
            f"got shape {table.shape} of type {table.dtype}"
        )
    width = int(np.prod(table.shape[1:]))
    rows = _sampled(verdict, min(MOST_POINTS, max(2, _MOST_BYTES // (4 * max(1, width)))))
    return rows, table[rows].reshape(len(rows), width).astype(np.float32)


def principal_plane(block: Floats) -> tuple[Floats, float]:
    """The rows, at unit length, on their first two principal axes in the unit square; and the share these explain.

    >>> points, explained = principal_plane(np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0]], dtype=np.float32))
    >>> points.min() >= 0 and points.max() <= 1, round(explained, 3)
    (np.True_, 1.0)
    """
    length = np.linalg.norm(block, axis=1, keepdims=True)
    block = block / np.where(length > 0, length, 1)
    block -= block.mean(axis=0)
    # Subspace iteration: two axes of a thousand do not deserve a full decomposition.
    basis = np.random.default_rng(0).standard_normal((block.shape[1], min(8, *block.shape)), dtype=np.float32)
    for _ in range(_ROUNDS):
        basis = np.linalg.qr(block.T @ (block @ basis))[0]
    inner = block @ basis
    values, turn = np.linalg.eigh((inner.T @ inner).astype(np.float64))
    turn = turn[:, ::-1][:, :2]
    points = np.zeros((len(block), 2))
    points[:, : turn.shape[1]] = inner @ turn
    points *= np.where(np.abs(points.max(axis=0)) < np.abs(points.min(axis=0)), -1, 1)  # a sign that stays
    total = float(np.sum(block**2, dtype=np.float64))
    explained = float(values[::-1][:2].sum()) / total if total > 0 else 0.0
    low, high = points.min(axis=0), points.max(axis=0)
    return (points - low) / np.where(high > low, high - low, 1), min(1.0, explained)


def _sampled(verdict: Verdict, most: int) -> Ints:
    """All rows when they fit; else a uniform sample, and the worst suspects beside it."""
    if len(verdict) <= most:
        return np.arange(len(verdict))
    suspects = verdict.suspects(min(MOST_SUSPECTS, most // 5))
    # Drawing a few too many and dropping the repeats costs less than a permutation of all rows.
    drawn = np.random.default_rng(0).integers(0, len(verdict), 2 * most)
    rows = dict.fromkeys(suspects.tolist())
    for row in drawn.tolist():
        if len(rows) == most:
            break
        rows[row] = None
    return np.array(sorted(rows), dtype=np.intp)
