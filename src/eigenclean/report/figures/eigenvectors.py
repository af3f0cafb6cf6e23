"""Class eigenvectors of trained features: spectrum, samples needed, rotation by noise, separation by direction.

Each function draws one of the measurements in `eigenclean.metrics.class_eigenvectors`, given as plain values by its
``as_dict()``; None stands for what could not be measured.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from eigenclean.report.figures.axes import Axes
from eigenclean.report.figures.svg import figure, tag, text, title
from eigenclean.report.formatting import isolate, percent, plain, short, tick_percent

_SMALLEST_SHARE = 1e-6  # the lower end of the logarithmic axis
MAX_ROWS = 24  # classes in the heatmap; more would be thinner than a line of text
_ROW, _LEFT, _RIGHT, _TOP = 20, 110, 20, 10
_NAME_LENGTH = 14


def spectrum(measured: Mapping[str, Any]) -> Markup:
    """Share of Σ |z|² along each leading eigenvector: a thin line per class, a thick one for the mean."""
    shares: list[list[float]] = measured["shares"]
    k = len(shares[0])
    mean = [sum(column) / len(shares) for column in zip(*shares, strict=True)]
    smallest = max(_SMALLEST_SHARE, min((share for row in shares for share in row if share > 0), default=0.1))
    lowest = math.floor(math.log10(smallest) + 1e-9)
    axes = Axes.of((1, max(k, 2)), (10.0**lowest, 1.0), log_y=True)
    numbers = range(1, k + 1)
    elements = [
        *axes.y_ticks([10.0**exponent for exponent in range(lowest, 1)], tick_percent),
        *axes.x_ticks([(number, str(number)) for number in numbers], "eigenvalue"),
        *(axes.line(numbers, row, "line thin") for row in shares),
        axes.line(numbers, mean, "line s0", title(f"mean of {len(shares)} classes")),
    ]
    label = (
        f"Eigenvalue spectrum: the first eigenvector holds {percent(mean[0])} on average over {len(shares)} classes"
    )
    return figure(axes.width, axes.height, *elements, label=label, class_="figure spectrum")


def fraction(measured: Mapping[str, Any]) -> Markup:
    """|cos| between the eigenvector of a random subset and that of the class: the mean, and the range as a band."""
    shares, low, high = measured["fractions"], measured["low"], measured["high"]
    bottom = min(0.9, math.floor(10 * min(low) + 1e-9) / 10)
    axes = Axes.of((shares[0], max(shares[-1], 2 * shares[0])), (bottom, 1.0), log_x=True)
    ticks = [bottom + (1 - bottom) * step / 4 for step in range(5)]
    elements = [
        *axes.y_ticks(ticks, lambda cosine: f"{cosine:.2g}"),
        *axes.x_ticks([(share, tick_percent(share)) for share in shares], "share of the class"),
        axes.band(shares, low, high, "band"),
        axes.line(shares, measured["cosine"], "line s0", title("mean over classes and draws")),
    ]
    label = f"Cosine between eigenvectors of a subset and of the class: {measured['cosine'][0]:.3f} at the smallest"
    return figure(axes.width, axes.height, *elements, label=label, class_="figure fraction")


def shift(measured: Mapping[str, Any]) -> Markup:
    """Sine of the angle by which wrong labels rotate each eigenvector: one dot per class and eigenvector."""
    names = [plain(name) for name in measured["classes"]]
    rows: list[list[float | None]] = measured["perturbation"]
    axes = Axes.of((-0.5, len(names) - 0.5), (0.0, 1.0), margins=(10, 150, 40, 48))
    elements = [
        *axes.y_ticks([0, 0.25, 0.5, 0.75, 1], lambda sine: f"{sine:g}"),
        *axes.x_ticks([(at, short(names[at], 8)) for at in _evenly_spaced(len(names), 10)], "class"),
    ]
    for number, component in enumerate(measured["components"]):
        for at, sine in enumerate(rows[number]):
            if sine is not None:
                hint = title(f"{isolate(names[at])}, eigenvector {component}: {sine:.3f}")
                elements.append(tag("circle", hint, cx=axes.x(at), cy=axes.y(sine), r=4, class_=f"dot s{number}"))
        key = f"no. {component}: {measured['mean'][number]:.2f} ± {measured['std'][number]:.2f}"
        elements.append(tag("text", text(key), x=axes.x.end + 10, y=24 + 18 * number, class_=f"s{number}"))
    label = f"Rotation of eigenvectors in {len(names)} classes by wrong labels: mean sine {measured['mean'][0]:.3f}"
    return figure(axes.width, axes.height, *elements, label=label, class_="figure shift")


def alignment(measured: Mapping[str, Any]) -> Markup:
    """Separation of right from wrong labels along directions a(φ), relative to the best one: a row per class."""
    names, angles = [plain(name) for name in measured["classes"]], measured["angles"]
    shown = [k for k, best in enumerate(measured["best"]) if best is not None and best > 0][:MAX_ROWS]
    width = 520
    step = (width - _LEFT - _RIGHT) / len(angles)
    elements = []
    for row, k in enumerate(shown):
        y = _TOP + _ROW * row
        cells = [
            tag(
                "rect",
                x=_LEFT + step * number,
                y=y,
                width=step + 0.3,  # the overlap hides the seams between cells
                height=_ROW - 2,
                fill_opacity=round(min(1.0, abs(value / measured["best"][k])), 2),
                class_="more" if value > 0 else "less",
            )
            for number, value in enumerate(measured["values"][k])
        ]
        at_u = measured["at_eigenvector"][k] / measured["best"][k]
        hint = title(f"{isolate(names[k])}: u reaches {percent(max(at_u, 0.0))} of the best direction")
        name = tag("text", text(short(names[k], _NAME_LENGTH)), x=_LEFT - 8, y=y + 13, text_anchor="end")
        elements.append(tag("g", hint, name, *cells))
    base = _TOP + _ROW * len(shown)
    for degrees, word in ((0, "u"), (90, "90°"), (180, "−u"), (270, "270°"), (360, "u")):
        x = _LEFT + (width - _LEFT - _RIGHT) * degrees / 360
        if degrees % 180 == 0:
            elements.append(tag("line", x1=x, x2=x, y1=_TOP, y2=base, class_="boundary"))
        elements.append(tag("text", text(word), x=x, y=base + 16, text_anchor="middle"))
    label = f"Separation of right from wrong labels by angle to the eigenvector u, {len(shown)} classes"
    return figure(width, base + 24, *elements, label=label, class_="figure alignment")


def _evenly_spaced(n: int, limit: int) -> Sequence[int]:
    """At most ``limit`` evenly spaced positions of ``n``."""
    return range(0, n, -(-n // limit))
