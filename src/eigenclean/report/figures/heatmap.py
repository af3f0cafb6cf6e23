"""Given against suggested labels as a grid of tinted squares."""

import unicodedata
from typing import Any

from markupsafe import Markup

from eigenclean.report.figures.svg import picture, tag, text, title
from eigenclean.report.words import count, isolate, short

_LETTER = 7.2  # width of a letter at the size used here; Chinese characters and emoji take twice that
_MOST_LETTERS = 18
_COUNTS_UP_TO = 12  # more classes leave no room for numbers


def heatmap(confusion: dict[str, Any]) -> Markup:
    """Rows are given labels, columns suggested ones; the stronger the colour, the more labels."""
    names: list[str] = confusion["labels"]
    counts: list[list[int]] = confusion["counts"]
    shown = [short(name, _MOST_LETTERS) for name in names]
    longest = max(map(_width, shown), default=1)
    step = 38 if len(names) <= _COUNTS_UP_TO else 28
    slanted = longest > 3 * _LETTER
    left = max(60, longest + 16)  # room for "given" at least
    top = (longest * 0.72 if slanted else 14) + 32
    right = longest * 0.72 if slanted else 6
    most = max((number for row in counts for number in row), default=0) or 1
    parts = [
        tag("text", text("suggested →"), x=left, y=12, class_="axis"),
        tag("text", text("given ↓"), x=left - 10, y=top - 10, text_anchor="end", class_="axis"),
    ]
    for i, name in enumerate(names):
        middle = step * (i + 0.5)
        parts.append(_name(name, shown[i], x=left - 10, y=top + middle + 4, text_anchor="end"))
        if slanted:
            place = f"translate({left + middle + 2:.1f} {top - 8:.1f}) rotate(-45)"
            parts.append(_name(name, shown[i], transform=place))
        else:
            parts.append(_name(name, shown[i], x=left + middle, y=top - 8, text_anchor="middle"))
    for i, row in enumerate(counts):
        for j, number in enumerate(row):
            parts.append(_cell(names, i, j, number, most, left + step * j, top + step * i, step))
    width, height = left + step * len(names) + right, top + step * len(names) + 2
    label = (
        f"Heat map of given and suggested labels of {len(names)} classes; the list beside it names the top pairs"
    )
    return picture(
        width, height, *parts, label=label, class_=f"figure heatmap {'wide' if len(names) > 10 else ''}".strip()
    )


def _cell(names: list[str], i: int, j: int, number: int, most: int, x: float, y: float, step: float) -> Markup:
    box = {"x": x + 1, "y": y + 1, "width": step - 2, "height": step - 2, "rx": 3}
    if number == 0:
        return tag("rect", **box, class_="same" if i == j else "empty")
    strength = 0.1 + 0.9 * (number / most) ** 0.6
    words = f"{isolate(names[i])} → {isolate(names[j])}: {count(number)}"
    inside = [title(words), tag("rect", **box, class_="cell", fill_opacity=round(strength, 2))]
    if len(names) <= _COUNTS_UP_TO:
        tone = "on" if strength > 0.85 else None
        inside.append(
            tag("text", text(count(number)), x=x + step / 2, y=y + step / 2 + 4, text_anchor="middle", class_=tone)
        )
    return tag("g", *inside)


def _width(name: str) -> float:
    return _LETTER * sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in name)


def _name(name: str, shown: str, **place: str | float) -> Markup:
    return tag("text", title(name) if shown != name else "", text(shown), **place)
