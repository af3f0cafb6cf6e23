"""The figure of an experiment, as SVG: equal results give an equal file."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenclean.arrays import Float64s
from eigenclean_lab.reproduce.compare import Table
from eigenclean_lab.reproduce.values import Metric
from eigenclean_lab.store import measured_cells
from eigenclean_lab.svg import SVG_STYLE, results_fingerprint, svg_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, THEIRS, GRID = "#1f6aa5", "#cf5a1c", "#dddddd"
COLOURS = ("#1f6aa5", "#cf5a1c", "#117733", "#aa4499", "#8c6d1f", "#555555", "#44aa99", "#111111")
_ACROSS = 4
_TIMES = "×"  # titles of ratios begin so


def draw(table: Table) -> str:
    """The figure as SVG text; an empty text when there is nothing to draw."""
    if not table.is_measured:
        return ""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({**SVG_STYLE, "axes.titlesize": 9}):
        figure = Figure(layout="constrained")
        _DRAWN[table.experiment.plot](table, figure)
        return svg_text(figure, drawn_from(table))


def drawn_from(table: Table) -> str:
    """Fingerprint of the measured cells of the table, which its figure has as description."""
    return results_fingerprint(
        [
            [*place, [[cell.seed, dict(cell.figures), dict(cell.curves)] for cell in measured_cells(cells)]]
            for place, cells in table.cells.items()
        ]
    )


def _dots(table: Table, figure: "Figure") -> None:
    """A panel for each column and each unit: dots for what was measured, diamonds for what the paper says."""
    rows = [row.name for row in table.experiment.rows]
    panel_contents = [
        (column.name, metrics)
        for metrics in _metrics_by_unit(table)
        for column in table.experiment.columns
        if any(table.value(row, column.name, metrics[0].key) is not None for row in rows)
    ]
    units = len({metrics for _, metrics in panel_contents})
    across = min(_ACROSS, len(panel_contents) // units)  # each unit begins a line of its own
    panels = _panels(figure, len(panel_contents), 1.9, 0.7 + 0.22 * len(rows), across=across, sharey=True)
    printed = False
    for axes, (column, metrics) in zip(panels, panel_contents, strict=True):
        for number, metric in reversed(list(enumerate(metrics))):  # the first is drawn last, on top
            measured = table.over_common_seeds(column, metric)
            for place, row in enumerate(rows):
                paper = table.entries[row, column, metric.key].paper
                if paper is not None:
                    printed = True
                    fill = "none" if number else THEIRS
                    axes.plot(paper.mean, place, "D", color=THEIRS, markersize=4, markerfacecolor=fill)
                if row in measured:
                    fill = "none" if number else OURS
                    value, spread = measured[row].mean, measured[row].deviation
                    axes.errorbar(
                        value, place, xerr=spread, fmt="o", color=OURS, markersize=4, markerfacecolor=fill
                    )
        axes.set_title(column if units == 1 else f"{column}: {metrics[0].title}", loc="left")
        if metrics[0].title.startswith(_TIMES):  # on a linear axis, one slow method hides the others' differences
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.5, -0.5)
    first, *second = panel_contents[0][1]
    legend = f"dot: {first.title if units == 1 else 'measured'}" + "".join(
        f", circle: {metric.title}" for metric in second
    )
    also = "\ndiamond: the same in the paper, on its own data" if printed else ""
    figure.supxlabel(f"{legend}\nwith deviation over the seeds that all rows have{also}", fontsize=8)


def _metrics_by_unit(table: Table) -> list[tuple[Metric, ...]]:
    """Figures of one unit share a panel: the main ones, and those that can be compared with the paper's."""
    experiment = table.experiment
    by_unit: dict[float, list[Metric]] = {}
    for metric in experiment.metrics:
        compared = metric.comparable and experiment.paper.get(metric.key)
        measured = any(
            entry.measured is not None for (*_, key), entry in table.entries.items() if key == metric.key
        )
        if measured and (metric in experiment.main_metrics or compared):
            by_unit.setdefault(metric.scale, []).append(metric)
    return [tuple(metrics[:2]) for metrics in by_unit.values()]


def _rates(table: Table, figure: "Figure") -> None:
    """Lines over the noise rate."""
    (axes,) = _panels(figure, 1, 4.8, 3.0)
    metric = table.experiment.metrics[0]
    for colour, row in zip(COLOURS, table.experiment.rows, strict=False):
        measured, printed = [], []
        for column in table.experiment.columns:
            entry, rate = table.entries[row.name, column.name, metric.key], float(column.noise.partition(":")[2])
            if entry.measured is not None:
                measured.append((rate, entry.measured.mean, entry.measured.deviation or 0.0))
            if entry.paper is not None:
                printed.append((rate, entry.paper.mean))
        if measured:
            x, y, spread = zip(*measured, strict=True)
            axes.errorbar(x, y, yerr=spread, fmt="o-", color=colour, markersize=4, label=f"{row.name}, measured")
        if printed:
            axes.plot(
                *zip(*printed, strict=True), "D--", color=colour, markerfacecolor="none", label=f"{row.name}, paper"
            )
    axes.set_xlabel("share of labels drawn anew")
    axes.set_ylabel(metric.title)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def _curves(table: Table, figure: "Figure") -> None:
    """F of what is learned from, epoch by epoch, a panel for each column: means over the seeds, and their range."""
    columns = [column.name for column in table.experiment.columns if _has_curve(table, column.name)]
    panels = _panels(figure, len(columns), 3.4, 2.6, across=3, sharey=True)
    most_seeds = 1
    for axes, column in zip(panels, columns, strict=True):
        for colour, row in zip(COLOURS, table.experiment.rows, strict=False):
            by_seed = _curves_by_seed(table, row.name, column)
            if not len(by_seed):
                continue
            most_seeds = max(most_seeds, len(by_seed))
            x = range(1, by_seed.shape[1] + 1)
            style = "--" if row.name.endswith("accuracy") else "-"  # to read the others by
            mean, low, high = by_seed.mean(axis=0), by_seed.min(axis=0), by_seed.max(axis=0)
            axes.plot(x, mean, style, color=colour, linewidth=1.4, alpha=0.85, label=row.name)
            if len(by_seed) > 1:
                axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.set_title(column, loc="left")
        axes.set_xlabel("epoch")
    panels[0].set_ylabel("F of the kept" if _kind(table) == "train" else "F of the kept, or accuracy")
    handles, labels = panels[0].get_legend_handles_labels()  # a legend inside a panel would hide lines
    title = "line: mean over the seeds, band: their range" if most_seeds > 1 else None
    figure.legend(
        handles, labels, title=title, loc="outside lower center", ncols=min(len(labels), 4), frameon=False
    )


def _curves_by_seed(table: Table, row: str, column: str) -> Float64s:
    """Seeds x epochs, with nan for epochs without a number; no rows where nothing was measured."""
    cells = measured_cells(table.cells[row, column, _kind(table)])
    return np.array([cell.curves["f"] for cell in cells if cell.curves.get("f")], dtype=np.float64)


def _has_curve(table: Table, column: str) -> bool:
    return any(len(_curves_by_seed(table, row.name, column)) for row in table.experiment.rows)


def _kind(table: Table) -> str:
    return table.experiment.metrics[0].kind


def _fractions(table: Table, figure: "Figure") -> None:
    """Cosine with the eigenvector of the whole class, against the share that was looked at."""
    from matplotlib.ticker import PercentFormatter

    (axes,) = _panels(figure, 1, 4.8, 3.0)
    for colour, column in zip(COLOURS, table.experiment.columns, strict=False):
        cells = measured_cells(table.cells[table.experiment.rows[0].name, column.name, "fraction"])
        if cells:
            x = cells[0].curves["fractions"]
            middle, low, high = (
                np.mean([cell.curves[name] for cell in cells], axis=0) for name in ("cosine", "low", "high")
            )
            axes.plot(x, middle, "o-", color=colour, markersize=4, label=f"{column.name}, mean over classes")
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    for _, column_name in table.experiment.paper["fraction.one_percent"]:
        value = table.experiment.paper["fraction.one_percent"]["subset", column_name].mean
        axes.plot(0.01, value, "D", color="#222222", markerfacecolor="none", label=f"{column_name}, paper")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    axes.set_xlabel("share of each class")
    axes.set_ylabel("cosine with the eigenvector of all")
    axes.legend(frameon=False, loc="lower right")


def _planes(table: Table, figure: "Figure") -> None:
    """Classes by angles: clean minus noisy alignment, of the first seed."""
    cell = next(cell for cells in table.cells.values() for cell in measured_cells(cells))
    values = np.array([[np.nan if value is None else value for value in row] for row in cell.curves["values"]])
    angles = np.degrees(np.array(cell.curves["angles"]))
    tall = min(4.5, 0.8 + 0.2 * len(values))
    (axes,) = _panels(figure, 1, 5.6, tall)
    bound = float(np.nanmax(np.abs(values)))
    heatmap = axes.imshow(
        values, aspect="auto", cmap="RdBu", vmin=-bound, vmax=bound, extent=(0, 360, len(values) - 0.5, -0.5)
    )
    known = np.flatnonzero(np.isfinite(values).any(axis=1))  # a class without wrong labels has no value
    axes.plot(angles[np.nanargmax(values[known], axis=1)], known, "x", color="#222222", markersize=4, clip_on=False)
    if len(values) <= 20:
        axes.set_yticks(range(len(values)), cell.curves["classes"])
    axes.set_ylabel("class")
    axes.set_xlabel("angle to the eigenvector in degrees; × where a class has its highest value")
    axes.grid(False)
    figure.colorbar(heatmap, ax=axes, label="clean − noisy")


def _theory(table: Table, figure: "Figure") -> None:
    """The plots of a theorem from the settings of its grid."""
    from eigenclean_lab.theory.plots import draw_theorem1, draw_theorem2
    from eigenclean_lab.theory.theorem1 import PerturbationResult
    from eigenclean_lab.theory.theorem2 import SelectionResult

    cell = next(cell for cells in table.cells.values() for cell in measured_cells(cells))
    figure.set_size_inches(9.0, 3.6)
    if table.experiment.name == "theorem1":
        draw_theorem1([PerturbationResult(**setting) for setting in cell.curves["cells"]], figure)
    else:
        draw_theorem2([SelectionResult(**setting) for setting in cell.curves["cells"]], figure)


def _panels(
    figure: "Figure", count: int, wide: float, tall: float, across: int = _ACROSS, **options: Any
) -> "list[Axes]":
    across = min(across, count)
    down = -(-count // across)
    figure.set_size_inches(max(4.4, 1.0 + wide * across), 0.5 + tall * down)  # wide enough for the legend below
    panels = list(figure.subplots(down, across, squeeze=False, **options).flat)
    for axes in panels:
        axes.grid(color=GRID, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    for axes in panels[count:]:
        axes.set_axis_off()
    return panels[:count]


_DRAWN: dict[str, "Callable[[Table, Figure], None]"] = {
    "dots": _dots,
    "rates": _rates,
    "curves": _curves,
    "fractions": _fractions,
    "planes": _planes,
    "theory": _theory,
}
