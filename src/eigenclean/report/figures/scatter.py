"""The map: every sampled row a dot, suspects drawn last and ringed."""

from typing import Any

from markupsafe import Markup

from eigenclean.report.figures.svg import figure, tag, title
from eigenclean.report.formatting import isolate, plural, probability, short

WIDTH, HEIGHT = 960, 600
MAX_COLOURS = 10  # more cannot be told apart
_MARGIN = 14
_MAX_LETTERS = 60


def scatter(plane: dict[str, Any]) -> Markup:
    """Dots in the colour of the given class, or grey when there are too many classes for colours."""
    coloured = plane["n_classes"] <= MAX_COLOURS
    order = sorted(range(plane["n_points"]), key=lambda i: bool(plane["flagged"][i]))
    dots = [_dot(plane, i, coloured) for i in order]
    n_flagged = sum(plane["flagged"])
    label = f"Map of {plural(plane['n_points'], 'sample')} in two dimensions, {n_flagged} of them flagged"
    return figure(WIDTH, HEIGHT, *dots, label=label, class_=f"figure scatter {'coloured' if coloured else 'grey'}")


def _dot(plane: dict[str, Any], i: int, coloured: bool) -> Markup:
    flagged = plane["flagged"][i]
    given = plane["given"][i]
    hint = f"{isolate(plane['ids'][i])} · {_name(plane, given)}"
    if flagged:
        other = plane["suggested"][i]
        hint += f" → {_name(plane, other)}" if other != given else ""
        hint += f" · {probability(plane['p_wrong'][i])} probably wrong"
    names = [f"c{given}"] if coloured else []
    return tag(
        "circle",
        title(hint),
        cx=_MARGIN + plane["x"][i] * (WIDTH - 2 * _MARGIN),
        cy=HEIGHT - _MARGIN - plane["y"][i] * (HEIGHT - 2 * _MARGIN),
        r=4.6 if flagged else 3.2,
        class_=" ".join([*names, *(["suspect"] if flagged else [])]) or None,
    )


def _name(plane: dict[str, Any], code: int) -> str:
    return isolate(short(plane["labels"][str(code)], _MAX_LETTERS))
