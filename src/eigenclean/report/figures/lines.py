"""Curves over epochs: a few lines, their names beside their ends."""

import math
from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from eigenclean.report.figures.axes import Axes
from eigenclean.report.figures.svg import figure, tag, text, title
from eigenclean.report.formatting import tick_percent

_MARGINS = (10, 120, 40, 44)  # the names of the lines need room on the right
_LINE_HEIGHT = 13


def lines(series: list[dict[str, Any]], label: str, *, percent: bool = True) -> Markup:
    """Each series has a ``name``, ``x`` (epochs) and ``y``; with ``percent``, y are shares from 0 to 1.

    >>> "accuracy" in lines([{"name": "accuracy", "x": [1, 2], "y": [0.5, 0.75]}], "Accuracy by epoch")
    True
    """
    xs = [x for curve in series for x in curve["x"]] or [0, 1]
    ys = [y for curve in series for y in curve["y"]] or [0.0, 1.0]
    first, last = min(xs), max(max(xs), min(xs) + 1)
    low, high = _range(min(ys), max(ys), percent)
    axes = Axes.of((first, last), (low, high), margins=_MARGINS)
    format: Callable[[float], str] = tick_percent if percent else "{:.3g}".format
    elements = [
        *axes.y_ticks([low + (high - low) * step / 4 for step in range(5)], format),
        *axes.x_ticks([(x, str(round(x))) for x in (first, last)], "epoch"),
    ]
    label_heights: list[float] = []
    for number, curve in enumerate(series):
        if not curve["x"]:
            continue
        label_text = f"{curve['name']} {format(curve['y'][-1])}"
        elements.append(axes.line(curve["x"], curve["y"], f"line s{number}", title(label_text)))
        y = _free(axes.y(curve["y"][-1]), label_heights)
        elements.append(tag("text", text(label_text), x=axes.x(curve["x"][-1]) + 6, y=y + 4, class_=f"s{number}"))
    return figure(axes.width, axes.height, *elements, label=label, class_="figure lines")


def _free(y: float, label_heights: list[float]) -> float:
    """The height of a name, moved down until it covers no other name."""
    while any(abs(y - other) < _LINE_HEIGHT for other in label_heights):
        y += _LINE_HEIGHT
    label_heights.append(y)
    return y


def _range(low: float, high: float, percent: bool) -> tuple[float, float]:
    """The ends of the axis: shares at whole tens of percent, other numbers with a little room."""
    if percent:
        low, high = math.floor(10 * low + 1e-9) / 10, math.ceil(10 * high - 1e-9) / 10
        return (low, high) if high > low else (low, low + 0.1) if low < 1 else (0.9, 1.0)
    room = 0.05 * (high - low) or 0.05
    return low - room if low < 0 else max(0.0, low - room), high + room
