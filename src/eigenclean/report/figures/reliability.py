"""Reliability plot: predicted against observed P(right), the diagonal of perfect calibration, counts per bin."""

from typing import Any

from markupsafe import Markup

from eigenclean.report.figures.axes import Scale
from eigenclean.report.figures.svg import figure, path, tag, text, title
from eigenclean.report.formatting import compact, percent, plural, tick_percent

WIDTH, HEIGHT = 580, 452
_LEFT, _TOP, _SIDE = 66, 30, 480  # the plot is a little wider than high
_BASE = 334  # where the plot ends
_BARS = 46  # height of the longest bar below it
_TICKS = (0, 0.25, 0.5, 0.75, 1)
_x, _y = Scale(0, 1, _LEFT, _LEFT + _SIDE), Scale(0, 1, _BASE, _TOP)


def reliability(curve: dict[str, Any]) -> Markup:
    """The reliability plot; bars below it count the labels of each group."""
    bins = curve["bins"]
    elements = [_tick(value) for value in _TICKS]
    elements.append(tag("path", d=path([(_x(0), _y(0)), (_x(1), _y(1))]), class_="ideal"))
    filled = [group for group in bins if group["count"]]
    points = [(_x(group["predicted"]), _y(group["observed"])) for group in filled]
    if len(points) > 1:
        elements.append(tag("path", d=path(points), class_="curve right joining"))
    elements += [_dot(group) for group in filled]
    largest = max((group["count"] for group in bins), default=0) or 1
    elements += [_bar(group["count"], number, len(bins), largest) for number, group in enumerate(bins)]
    elements.append(
        tag("text", text("P(right) as the detector says"), x=_x(0.5), y=HEIGHT - 4, text_anchor="middle")
    )
    elements.append(tag("text", text("were right"), x=_x(0), y=14))
    label = "Reliability plot. " + "; ".join(_describe(group) for group in filled)
    return figure(WIDTH, HEIGHT, *elements, label=label, class_="figure reliability")


def _tick(value: float) -> Markup:
    hint = tick_percent(value)
    return tag(
        "g",
        tag("line", x1=_x(0), x2=_x(1), y1=_y(value), y2=_y(value), class_="base"),
        tag("text", text(hint), x=_LEFT - 10, y=_y(value) + 4, text_anchor="end", class_="tick"),
        tag("text", text(hint), x=_x(value), y=_BASE + 20, text_anchor="middle", class_="tick"),
    )


def _dot(group: dict[str, Any]) -> Markup:
    x = _x(group["predicted"])
    return tag(
        "g",
        title(_describe(group)),
        tag("line", x1=x, x2=x, y1=_y(group["low"]), y2=_y(group["high"]), class_="spread"),
        tag("circle", cx=x, cy=_y(group["observed"]), r=5),
    )


def _bar(count: int, number: int, n_bins: int, largest: int) -> Markup:
    width = _SIDE / n_bins
    height = _BARS * count / largest
    foot = HEIGHT - 24
    box = {"x": _LEFT + number * width + 2, "width": width - 4}
    return tag(
        "g",
        title(plural(count, "label")),
        tag("rect", **box, y=foot - height, height=height, class_="kept"),
        tag("text", text(compact(count)), x=_LEFT + (number + 0.5) * width, y=foot - height - 4,
            text_anchor="middle", class_="tick") if count else "",
    )  # fmt: skip


def _describe(group: dict[str, Any]) -> str:
    predicted, observed = percent(group["predicted"]), percent(group["observed"])
    return f"said {predicted}, were right {observed} of {plural(group['count'], 'label')}"
