"""A map of the data: all samples, up to a limit, on two principal components of their features."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidData
from eigenclean.report.formatting import plain
from eigenclean.report.sections.base import ReportInput
from eigenclean.sample_map import MAX_POINTS, MAX_STREAMED, choose_rows, encode, place_rows
from eigenclean.sample_map.points import packed, small

MAX_NAMED = 2500  # points with an id, and classes with a name: the suspects and the largest classes first
_MAX_ID, _MAX_LABEL = 80, 60  # characters
_KEYS = {"n_points", "n_suspects", "n_first", "n_listed", "explained", "x", "y", "given", "labels"}


def feature_map(inputs: ReportInput) -> dict[str, Any] | None:
    """The points of the map, suspects first and in the order of the list; None without features."""
    verdict, classes, features = inputs.verdict, inputs.classes, inputs.features
    if features is None or len(verdict) == 0:
        return None
    leading = verdict.suspects() if len(classes.flagged) else inputs.listed
    if callable(features):
        rows, n_first = choose_rows(len(verdict), leading, MAX_STREAMED)
        block = np.asarray(features(rows))
        points, explained = place_rows(lambda taken: block[_places(rows, taken)], rows, block.shape[1])
    else:
        table = _checked(features, len(verdict))
        rows, n_first = choose_rows(len(verdict), leading, MAX_POINTS)
        width = int(np.prod(table.shape[1:]))
        points, explained = place_rows(lambda taken: table[taken].reshape(len(taken), width), rows, width)
    given, first = classes.given[rows], rows[:n_first]
    suggested = given[:n_first]
    if len(classes.flagged):
        suggested = classes.suggested[np.searchsorted(classes.flagged, first)]
    return {
        **encode(points, given),
        "n_suspects": n_first if len(classes.flagged) else 0,
        "n_first": n_first,
        "n_listed": len(inputs.listed),
        "explained": explained,
        "suggested": packed(small(suggested)),
        "wrong": packed(np.round(255 * np.clip(inputs.p_wrong[first], 0, 1)).astype("u1")),
        "ids": [plain(verdict.ids[row].item(), _MAX_ID) for row in rows[:MAX_NAMED].tolist()],
        "labels": _labels(inputs, given, suggested),
        "n_classes": classes.n_given,
    }


def current_map(saved: Any) -> dict[str, Any] | None:
    """A map that was saved with a report; None for what an earlier version saved in another form."""
    return saved if isinstance(saved, dict) and saved.keys() >= _KEYS else None


def _places(rows: Ints, selected: Ints) -> Ints:
    """Where in ``rows`` each wanted one is."""
    order = np.argsort(rows)
    return order[np.searchsorted(rows, selected, sorter=order)]


def _labels(inputs: ReportInput, given: Ints, suggested: Ints) -> dict[str, str]:
    """Names by class code: of all classes, or of the largest ones and of those of the first suspects."""
    names = inputs.classes.names
    codes = np.arange(len(names))
    if len(names) > MAX_NAMED:
        largest = np.argsort(-np.bincount(given, minlength=len(names)), kind="stable")[:MAX_NAMED]
        codes = np.unique(np.concatenate([largest, given[:MAX_NAMED], suggested[:MAX_NAMED]]))
    return {str(code): plain(names[code], _MAX_LABEL) for code in codes.tolist()}


def _checked(features: ArrayLike, n: int) -> Array:
    table = features if isinstance(features, np.ndarray) else np.asarray(features)
    if len(table) != n or table.ndim < 2 or table.dtype.kind not in "fiub":
        raise InvalidData(
            f"report: features must be numbers, one row for each of the {n} labels, "
            f"got shape {table.shape} of type {table.dtype}"
        )
    return table
