"""The scores of one class: stacked bars, the two fitted components, the boundary between them."""

from typing import Any

from markupsafe import Markup

from eigenclean.report.figures.svg import figure, path, tag, text, title
from eigenclean.report.formatting import count, isolate, score

WIDTH, HEIGHT = 260, 128
_BASE = HEIGHT - 16  # the axis; below it is room for its numbers
_HEADROOM = 1.25  # a curve may rise this far above the highest bar


def histogram(panel: dict[str, Any]) -> Markup:
    """Scores of one class as stacked bars, kept below flagged, with the curves of the mixture."""
    kept, flagged = panel["kept"], panel["flagged"]
    peaks = [max(curve) for curve in panel["curves"] if curve]
    highest = max(max(k + f for k, f in zip(kept, flagged, strict=True)), 1)
    top = min(max([highest, *peaks]), _HEADROOM * highest)
    unit = (_BASE - 6) / top
    elements = [_bar(panel, i, unit) for i in range(len(kept))]
    for curve, side in zip(panel["curves"], ("wrong", "right"), strict=False):
        if curve:
            step = WIDTH / (len(curve) - 1)
            points = [(i * step, _BASE - min(value, top) * unit) for i, value in enumerate(curve)]
            elements.append(tag("path", d=path(points), class_=f"curve {side}"))
    elements.append(tag("line", x1=0, x2=WIDTH, y1=_BASE, y2=_BASE, class_="base"))
    low, high, boundary = panel["low"], panel["high"], panel["boundary"]
    if boundary is not None and low <= boundary <= high:
        x = WIDTH * (boundary - low) / (high - low)
        hint = title(f"below {score(boundary)} a label becomes a suspect")
        elements.append(tag("line", hint, x1=x, x2=x, y1=0, y2=_BASE, class_="boundary"))
    elements.append(tag("text", text(score(low)), x=0, y=HEIGHT - 3))
    elements.append(tag("text", text(score(high)), x=WIDTH, y=HEIGHT - 3, text_anchor="end"))
    label = (
        f"Scores of class {isolate(panel['label'])} from {score(low)} to {score(high)}: "
        f"{count(panel['n_flagged'])} of {count(panel['n_samples'])} labels flagged"
    )
    return figure(WIDTH, HEIGHT, *elements, label=label, class_="figure histogram")


def _bar(panel: dict[str, Any], i: int, unit: float) -> Markup:
    kept, flagged = panel["kept"][i], panel["flagged"][i]
    if not kept and not flagged:
        return Markup("")
    bins = len(panel["kept"])
    width = WIDTH / bins
    start = panel["low"] + (panel["high"] - panel["low"]) * i / bins
    end = panel["low"] + (panel["high"] - panel["low"]) * (i + 1) / bins
    hint = f"{score(start)} to {score(end)}: {count(kept)} kept, {count(flagged)} flagged"
    box = {"x": i * width + 0.5, "width": width - 1}
    elements = [title(hint)]
    if kept:
        elements.append(tag("rect", **box, y=_BASE - kept * unit, height=kept * unit, class_="kept"))
    if flagged:
        elements.append(
            tag("rect", **box, y=_BASE - (kept + flagged) * unit, height=flagged * unit, class_="flagged")
        )
    return tag("g", *elements)
