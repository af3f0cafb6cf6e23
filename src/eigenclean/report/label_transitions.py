"""What becomes of each class: P(given label | right label), by the detector or else by its flags."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Float64s
from eigenclean.report.names import Names

MOST_CLASSES = 20
LEAST = 0.5  # labels: no matrix that was estimated has exact zeros, and less than one label is nothing to look at


def transition(names: Names, estimated: ArrayLike | None) -> dict[str, Any] | None:
    """The transition matrix among the classes of the most frequent errors; None when labels do not move.

    A detector that estimates the matrix is believed. For the others, a flagged label is taken to be what was
    suggested, and every other label to be right.
    """
    n_names = len(names.text)
    given, right = names.given[names.flagged], names.suggested
    # Labels of each class if all suggestions were taken; at least one, so that a rate of nothing is nothing.
    sizes = np.bincount(names.given, minlength=n_names) - np.bincount(given, minlength=n_names)
    sizes = np.maximum(sizes + np.bincount(right, minlength=n_names), 1)
    matrix = _usable(estimated, names)
    if matrix is None:
        pairs, moved = np.unique((right * n_names + given)[right != given], return_counts=True)
        right, given = np.divmod(pairs, n_names)
        rate = moved / sizes[right]
    else:
        right, given = np.nonzero(matrix * ~np.eye(n_names, dtype=bool))
        rate = matrix[right, given]
        moved = rate * sizes[right]
    staying = 1.0 - np.bincount(right, rate, n_names)
    seen = np.argsort(-moved, kind="stable")[: np.count_nonzero(moved >= LEAST)]
    if not len(seen):
        return None
    right, given, rate = right[seen], given[seen], rate[seen]
    involved, first = np.unique(np.column_stack([right, given]), return_index=True)
    shown = np.sort(involved[np.argsort(first)[:MOST_CLASSES]])
    place = np.full(n_names, -1)
    place[shown] = np.arange(len(shown))
    rates = np.diag(staying[shown])
    inside = (place[right] >= 0) & (place[given] >= 0)
    rates[place[right[inside]], place[given[inside]]] = rate[inside]
    return {
        "labels": [names.text[k] for k in shown.tolist()],
        "rates": rates.clip(0, 1).round(4).tolist(),
        "n_hidden": len(involved) - len(shown),
        "by_detector": matrix is not None,
    }


def _usable(estimated: ArrayLike | None, names: Names) -> Float64s | None:
    """The detector's matrix, if it is one and speaks of these classes: it may have been fitted on other data."""
    try:
        matrix = np.asarray(estimated, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if matrix.shape != (names.n_given, names.n_given) or len(names.text) != names.n_given:
        return None
    sums_to_one = np.abs(matrix.sum(axis=1) - 1) < 0.01  # it was rounded; NaN is not below anything
    return matrix if (matrix >= 0).all() and sums_to_one.all() else None
