"""Bars whose lengths are percentages, so that they fit any width without shrinking the text beside them."""

from typing import Any

from markupsafe import Markup

from eigenclean.report.figures.svg import tag, title
from eigenclean.report.formatting import between, count, isolate, percent, plural


def certainty_bar(bands: list[dict[str, Any]]) -> Markup:
    """How sure the flags are: one bar in three elements.

    >>> "likely" in certainty_bar([{"name": "likely", "rule": "75 to 95 %", "count": 3}])
    True
    """
    total = sum(band["count"] for band in bands) or 1
    elements, start = [], 0.0
    for band in bands:
        width = 100 * band["count"] / total
        if width:
            description = f"{band['name']}: {plural(band['count'], 'flag')}, {band['rule']} probable"
            box = tag(
                "rect",
                title(description),
                x=f"{start:.3f}%",
                width=f"{width:.3f}%",
                height="100%",
                class_=band["name"],
            )
            elements.append(box)
        start += width
    label = "Flags by certainty: " + ", ".join(f"{count(band['count'])} {band['name']}" for band in bands)
    return tag("svg", *elements, class_="certainty", role="img", aria_label=label)


def class_bar(row: dict[str, Any], longest: float) -> Markup:
    """The flagged share of one class, its estimated noise rate and interval; ``longest`` fills the width."""
    scale = 100 / longest if longest > 0 else 0
    description = (
        f"{isolate(row['label'])}: {count(row['n_flagged'])} of {plural(row['n_samples'], 'label')} flagged "
        f"({percent(row['flagged_share'])}), estimated noise rate {percent(row['noise_rate'])}, "
        f"{between(*row['noise_interval'])}"
    )
    tick = f"{row['noise_rate'] * scale:.2f}%"
    low, high = (f"{min(end * scale, 100):.2f}%" for end in row["noise_interval"])
    return tag(
        "svg",
        title(description),
        tag("rect", y="3", width="100%", height="10", rx="2", class_="track"),
        tag("rect", y="3", width=f"{row['flagged_share'] * scale:.2f}%", height="10", rx="2", class_="flagged"),
        tag("line", x1=low, x2=high, y1="8", y2="8", class_="range"),
        tag("line", x1=tick, x2=tick, y1="0", y2="16", class_="tick"),
        class_="bar",
        role="img",
        aria_label=description,
    )
