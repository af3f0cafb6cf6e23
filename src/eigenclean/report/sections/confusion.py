"""Which classes are mislabelled as which: frequent pairs among the flags, and the transition matrix."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Float64s
from eigenclean.report.class_index import ClassIndex
from eigenclean.report.sections.base import ReportInput

MAX_PAIRS = 12
MAX_CLASSES = 20
_MIN_LABELS = 0.5  # an estimated matrix has no exact zeros; entries of less than half a label are not shown


def confusion(inputs: ReportInput) -> dict[str, Any]:
    """The pairs (given, suggested) among the flagged rows, most frequent first, and the transition matrix.

    A flag that suggests no other label is counted in ``n_without``.
    """
    classes = inputs.classes
    given, suggested = classes.given[classes.flagged], classes.suggested
    differ = given != suggested
    n_names = len(classes.names)
    pairs, counts = np.unique(given[differ] * n_names + suggested[differ], return_counts=True)
    top = np.argsort(-counts, kind="stable")[:MAX_PAIRS]
    return {
        "pairs": [
            {"given": classes.names[pair // n_names], "suggested": classes.names[pair % n_names], "count": number}
            for pair, number in zip(pairs[top].tolist(), counts[top].tolist(), strict=True)
        ],
        "n_pairs": len(pairs),
        "n_without": len(differ) - int(np.count_nonzero(differ)),
        "transition": transition_matrix(classes, inputs.made_by.get("transition")),
    }


def transition_matrix(classes: ClassIndex, estimated: ArrayLike | None) -> dict[str, Any] | None:
    """P(given label | right label) among the classes of the most frequent errors; None without any error.

    The detector's own estimate is shown where it has one. Otherwise the matrix is counted as if every suggestion
    and every label without a flag were right.
    """
    n_names = len(classes.names)
    given, right = classes.given[classes.flagged], classes.suggested
    # Class sizes if all suggestions were accepted; at least 1, so that an empty class has rate 0.
    sizes = np.bincount(classes.given, minlength=n_names) - np.bincount(given, minlength=n_names)
    sizes = np.maximum(sizes + np.bincount(right, minlength=n_names), 1)
    matrix = _valid_matrix(estimated, classes)
    if matrix is None:
        pairs, n_moved = np.unique((right * n_names + given)[right != given], return_counts=True)
        right, given = np.divmod(pairs, n_names)
        rate = n_moved / sizes[right]
    else:
        right, given = np.nonzero(matrix * ~np.eye(n_names, dtype=bool))
        rate = matrix[right, given]
        n_moved = rate * sizes[right]
    staying = 1.0 - np.bincount(right, rate, n_names)
    frequent = np.argsort(-n_moved, kind="stable")[: np.count_nonzero(n_moved >= _MIN_LABELS)]
    if not len(frequent):
        return None
    right, given, rate = right[frequent], given[frequent], rate[frequent]
    involved, first = np.unique(np.column_stack([right, given]), return_index=True)
    shown = np.sort(involved[np.argsort(first)[:MAX_CLASSES]])
    position = np.full(n_names, -1)
    position[shown] = np.arange(len(shown))
    rates = np.diag(staying[shown])
    inside = (position[right] >= 0) & (position[given] >= 0)
    rates[position[right[inside]], position[given[inside]]] = rate[inside]
    return {
        "labels": [classes.names[k] for k in shown.tolist()],
        "rates": rates.clip(0, 1).round(4).tolist(),
        "n_hidden": len(involved) - len(shown),
        "by_detector": matrix is not None,
    }


def _valid_matrix(estimated: ArrayLike | None, classes: ClassIndex) -> Float64s | None:
    """The detector's matrix if its shape fits these classes and its rows sum to 1; it may come from other data."""
    try:
        matrix = np.asarray(estimated, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if matrix.shape != (classes.n_given, classes.n_given) or len(classes.names) != classes.n_given:
        return None
    sums_to_one = np.abs(matrix.sum(axis=1) - 1) < 0.01  # entries may be rounded; NaN fails the comparison
    return matrix if (matrix >= 0).all() and sums_to_one.all() else None
