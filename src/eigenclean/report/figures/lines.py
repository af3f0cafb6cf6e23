"""Curves over epochs: a few lines, their names beside their ends."""

import math
from typing import Any

from markupsafe import Markup

from eigenclean.report.figures.svg import figure, path, tag, text, title

WIDTH, HEIGHT = 520, 240
_LEFT, _RIGHT, _TOP, _BASE = 44, 120, 10, HEIGHT - 24


def lines(series: list[dict[str, Any]], label: str, *, percent: bool = True) -> Markup:
    """Each series has a ``name``, ``x`` (epochs) and ``y``; with ``percent``, y are shares from 0 to 1.

    >>> "accuracy" in lines([{"name": "accuracy", "x": [1, 2], "y": [0.5, 0.75]}], "How it went")
    True
    """
    xs = [x for curve in series for x in curve["x"]] or [0, 1]
    ys = [y for curve in series for y in curve["y"]] or [0.0, 1.0]
    first, last = min(xs), max(max(xs), min(xs) + 1)
    low, high = _range(min(ys), max(ys), percent)

    def at(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (WIDTH - _LEFT - _RIGHT) * (x - first) / (last - first)
        return across, _BASE - (_BASE - _TOP) * (y - low) / (high - low)

    elements = [*_grid(low, high, at, first, last, percent)]
    taken: list[float] = []
    for number, curve in enumerate(series):
        points = [at(x, y) for x, y in zip(curve["x"], curve["y"], strict=True)]
        if not points:
            continue
        shown = f"{curve['name']} {_number(curve['y'][-1], percent)}"
        elements.append(tag("path", title(shown), d=path(points), class_=f"line s{number}"))
        y = _free(points[-1][1], taken)
        elements.append(tag("text", text(shown), x=points[-1][0] + 6, y=y + 4, class_=f"s{number}"))
    return figure(WIDTH, HEIGHT, *elements, label=label, class_="figure lines")


def _grid(low: float, high: float, at: Any, first: float, last: float, percent: bool) -> list[Markup]:
    elements = []
    for step in range(5):
        value = low + (high - low) * step / 4
        y = at(first, value)[1]
        elements.append(tag("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        elements.append(tag("text", text(_number(value, percent)), x=_LEFT - 6, y=y + 4, text_anchor="end"))
    elements += [
        tag("text", text(str(round(x))), x=at(x, low)[0], y=HEIGHT - 6, text_anchor="middle") for x in (first, last)
    ]
    elements.append(tag("text", text("epoch"), x=(_LEFT + WIDTH - _RIGHT) / 2, y=HEIGHT - 6, text_anchor="middle"))
    return elements


def _free(y: float, taken: list[float]) -> float:
    """A place for a name where no other name is."""
    while any(abs(y - other) < 13 for other in taken):
        y += 13
    taken.append(y)
    return y


def _range(low: float, high: float, percent: bool) -> tuple[float, float]:
    """Where the axis begins and ends: shares at whole tens of percent, other numbers with a little room."""
    if percent:
        low, high = math.floor(10 * low + 1e-9) / 10, math.ceil(10 * high - 1e-9) / 10
        return (low, high) if high > low else (low, low + 0.1) if low < 1 else (0.9, 1.0)
    room = 0.05 * (high - low) or 0.05
    return low - room if low < 0 else max(0.0, low - room), high + room


def _number(value: float, percent: bool) -> str:
    return f"{100 * value:.1f}".removesuffix(".0") + " %" if percent else f"{value:.3g}"
