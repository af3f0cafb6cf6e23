"""Right against given labels as a grid of tinted squares."""

import unicodedata
from typing import Any

from markupsafe import Markup

from eigenclean.report.figures.svg import figure, tag, text, title
from eigenclean.report.formatting import isolate, percent, percent_number, short

_LETTER = 7.2  # width of a letter at the size used here; Chinese characters and emoji take twice that
_MAX_LETTERS = 18
_MAX_NUMBERED = 12  # more classes leave no room for numbers
_FEW, _NARROWEST = 330, 200  # a narrow grid at the width of the page would have huge letters


def heatmap(transition: dict[str, Any]) -> Markup:
    """Rows are right labels, columns given ones; the stronger the colour, the more labels went astray.

    The diagonal, labels that are right, has a colour of its own: on the same scale it would outshine all errors.
    """
    names: list[str] = transition["labels"]
    rates: list[list[float]] = transition["rates"]
    short_names = [short(name, _MAX_LETTERS) for name in names]
    longest = max(map(_width, short_names), default=1)
    step = 38 if len(names) <= _MAX_NUMBERED else 28
    slanted = longest > 3 * _LETTER
    left = max(60, longest + 16)  # room for "right" at least
    top = (longest * 0.72 if slanted else 14) + 32
    right = longest * 0.72 if slanted else 6
    largest = max((rate for i, row in enumerate(rates) for j, rate in enumerate(row) if i != j), default=0) or 1
    elements = [
        tag("text", text("given →"), x=left, y=12, class_="axis"),
        tag("text", text("right ↓"), x=left - 10, y=top - 10, text_anchor="end", class_="axis"),
    ]
    for i, name in enumerate(names):
        middle = step * (i + 0.5)
        elements.append(_name(name, short_names[i], x=left - 10, y=top + middle + 4, text_anchor="end"))
        if slanted:
            place = f"translate({left + middle + 2:.1f} {top - 8:.1f}) rotate(-45)"
            elements.append(_name(name, short_names[i], transform=place))
        else:
            elements.append(_name(name, short_names[i], x=left + middle, y=top - 8, text_anchor="middle"))
    for i, row in enumerate(rates):
        for j, rate in enumerate(row):
            elements.append(_cell(names, i, j, rate, largest, left + step * j, top + step * i, step))
    width, height = max(left + step * len(names) + right, _NARROWEST), top + step * len(names) + 2
    label = f"Transition matrix of {len(names)} classes: how many labels of each right class were given which label"
    size = "wide" if len(names) > 10 else "few" if width < _FEW else ""
    return figure(width, height, *elements, label=label, class_=f"figure heatmap {size}".strip())


def _cell(names: list[str], i: int, j: int, rate: float, largest: float, x: float, y: float, step: float) -> Markup:
    box = {"x": x + 1, "y": y + 1, "width": step - 2, "height": step - 2, "rx": 3}
    if i != j and rate == 0:
        return tag("rect", **box, class_="empty")
    hint = f"{percent(rate)} of what is really {isolate(names[i])} was given {isolate(names[j])}"
    strength = 0.1 + 0.9 * (rate / largest) ** 0.6 if i != j else 0.2
    kind = "cell" if i != j else "same"
    inside = [title(hint), tag("rect", **box, class_=kind, fill_opacity=round(strength, 2))]
    if len(names) <= _MAX_NUMBERED:
        tone = "on" if strength > 0.85 else None
        inside.append(
            tag(
                "text",
                text(percent_number(rate)),
                x=x + step / 2,
                y=y + step / 2 + 4,
                text_anchor="middle",
                class_=tone,
            )
        )
    return tag("g", *inside)


def _width(name: str) -> float:
    return _LETTER * sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in name)


def _name(name: str, shown: str, **place: str | float) -> Markup:
    return tag("text", title(name) if shown != name else "", text(shown), **place)
