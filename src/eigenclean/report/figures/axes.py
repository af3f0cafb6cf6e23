"""A plot area with two scaled axes: what the line, band and dot plots share."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from eigenclean.report.figures.svg import path, tag, text


@dataclass(frozen=True)
class Scale:
    """Maps values from ``low`` to ``high`` onto pixels, linearly or by their logarithm.

    >>> Scale(1, 100, 0, 10, log=True)(10)
    5.0
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a value; values outside the range are drawn at its ends."""
        bounded = min(max(value, self.low), self.high)
        low, high, at = (
            map(math.log, (self.low, self.high, bounded)) if self.log else (self.low, self.high, bounded)
        )
        return self.start + (self.end - self.start) * (at - low) / ((high - low) or 1)


@dataclass(frozen=True)
class Axes:
    """A plot area of ``width`` x ``height`` pixels with margins for the tick labels."""

    x: Scale
    y: Scale
    width: float
    height: float

    @classmethod
    def of(
        cls,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        width: float = 520,
        height: float = 240,
        margins: tuple[float, float, float, float] = (10, 24, 40, 48),
        log_x: bool = False,
        log_y: bool = False,
    ) -> "Axes":
        """Axes over these ranges; ``margins`` are top, right, bottom and left."""
        top, right, bottom, left = margins
        return cls(Scale(*x, left, width - right, log_x), Scale(*y, height - bottom, top, log_y), width, height)

    def line(self, x: Sequence[float], y: Sequence[float], class_: str, *inside: str) -> Markup:
        """A polyline through the points."""
        points = [(self.x(a), self.y(b)) for a, b in zip(x, y, strict=True)]
        return tag("path", *inside, d=path(points), class_=class_)

    def band(self, x: Sequence[float], low: Sequence[float], high: Sequence[float], class_: str) -> Markup:
        """The area between two curves."""
        lower = [(self.x(a), self.y(b)) for a, b in zip(x, low, strict=True)]
        upper = [(self.x(a), self.y(b)) for a, b in zip(x, high, strict=True)]
        return tag("path", d=path([*lower, *reversed(upper)]) + "Z", class_=class_)

    def x_ticks(self, ticks: Sequence[tuple[float, str]], title: str) -> list[Markup]:
        """Labels below the plot area, and the title of the axis below them."""
        base = self.y.start
        labels = [
            tag("text", text(word), x=self.x(position), y=base + 16, text_anchor="middle")
            for position, word in ticks
        ]
        middle = (self.x.start + self.x.end) / 2
        return [*labels, tag("text", text(title), x=middle, y=base + 34, text_anchor="middle", class_="axis")]

    def y_ticks(self, ticks: Sequence[float], format: Callable[[float], str]) -> list[Markup]:
        """Grid lines with a label to the left of each."""
        elements = []
        for value in ticks:
            y = self.y(value)
            elements.append(tag("line", x1=self.x.start, x2=self.x.end, y1=y, y2=y, class_="grid"))
            elements.append(tag("text", text(format(value)), x=self.x.start - 6, y=y + 4, text_anchor="end"))
        return elements
