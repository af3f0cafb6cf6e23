"""The figure of `eigenclean bench train`: one panel per setting, one line per recipe, last and best accuracy."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eigenclean.errors import InvalidData
from eigenclean_lab.bench.training.page import TrainingRow, by_family, summary_rows
from eigenclean_lab.bench.training.settings import SETTINGS, TABLES
from eigenclean_lab.bench.training.suite import FILE, training_store
from eigenclean_lab.store import Cell
from eigenclean_lab.svg import SVG_STYLE, svg_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ACROSS = 3  # panels
_COLORS = {False: "#4477aa", True: "#cc6633"}  # others, those that FINE or the judge selects for


def page_figure(results: Path) -> str:
    """The figure of the page about `eigenclean bench train`: images and features, with one schedule for all."""
    cells = training_store(results / FILE).read()
    return draw_training(
        [
            cell
            for cell in cells
            if cell.task["schedule"] == "preset"
            and cell.task["setting"] in SETTINGS
            and SETTINGS[cell.task["setting"]].data not in TABLES
        ]
    )


def draw_training(cells: Sequence[Cell]) -> str:
    """The cells as SVG text: a dot with its deviation for the last epoch, a ring for the best one."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = [row for row in summary_rows(cells) if row.seeds]
    if not rows:
        raise InvalidData("bench train: nothing was measured, so there is nothing to plot")
    settings = list(dict.fromkeys(row.setting for row in rows))
    recipes = by_family(row.recipe for row in rows)
    across = min(_ACROSS, len(settings))
    down = -(-len(settings) // across)
    with rc_context(SVG_STYLE):
        figure = Figure(figsize=(1.4 + 2.6 * across, 0.4 + down * (0.7 + 0.2 * len(recipes))), layout="constrained")
        panels = list(figure.subplots(down, across, sharey=True, squeeze=False).flat)
        for axes, setting in zip(panels, settings, strict=False):
            for row in (row for row in rows if row.setting == setting):
                _draw(axes, row, recipes.index(row.recipe))
            axes.set_title(setting, loc="left")
            axes.set_yticks(range(len(recipes)), recipes)
            axes.set_ylim(len(recipes) - 0.5, -0.5)
            axes.grid(color="#dddddd", linewidth=0.6)
            axes.locator_params(axis="x", nbins=4)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        for axes in panels[len(settings) :]:  # those that are left over
            axes.set_axis_off()
        figure.supxlabel(
            "test accuracy: dot in the last epoch, with its deviation over the seeds; ring in the best\n"
            "orange: FINE or the judge selects"
        )
        return svg_text(figure)


def _draw(axes: "Axes", row: TrainingRow, line: int) -> None:
    color = _COLORS[
        row.recipe.startswith(("f-", "j-"))
        or row.recipe.endswith(("+fine", "+judge"))
        or row.recipe in ("fine", "judge", "probe")
    ]
    last, best = row.mean["last"], row.mean["best"]
    axes.errorbar(last, line, xerr=row.deviation.get("last"), fmt="o", markersize=4, color=color, zorder=3)
    axes.plot(best, line, "o", markersize=6, markerfacecolor="none", markeredgecolor=color, zorder=3)
