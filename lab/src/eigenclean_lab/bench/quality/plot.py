"""The figure of `eigenclean bench quality`: detectors by settings, one panel for F and one for AUROC."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidData
from eigenclean_lab.bench.quality.rows import QualityRow, summary_rows
from eigenclean_lab.bench.quality.settings import SETTINGS
from eigenclean_lab.bench.quality.suite import quality_store
from eigenclean_lab.formatting import decimals
from eigenclean_lab.store import Cell
from eigenclean_lab.svg import SVG_STYLE, svg_text

PANELS = {"f": "F of keeping the right labels", "auroc": "AUROC of the ranking"}


def page_figure(results: Path) -> str:
    """The figure of the page about `eigenclean bench quality`: the settings of earlier versions."""
    cells = quality_store(results).read()
    return draw_quality(
        [cell for cell in cells if (known := SETTINGS.get(cell.task["setting"])) and known.half == "earlier"]
    )


def draw_quality(cells: Sequence[Cell]) -> str:
    """The cells as SVG text with readable numbers, best detector first; what was not measured stays empty."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = [row for row in summary_rows(cells) if row.figures]
    if not rows:
        raise InvalidData("bench quality: nothing was measured, so there is nothing to plot")
    settings = list(dict.fromkeys(row.setting for row in rows))
    detectors = _best_first(rows)
    size = (2.2 + 0.55 * len(settings), 1.6 + 2 * (0.6 + 0.26 * len(detectors)))
    with rc_context(SVG_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        for axes, (key, title) in zip(figure.subplots(len(PANELS), 1, sharex=True), PANELS.items(), strict=True):
            values = _grid(rows, detectors, settings, key)
            axes.imshow(np.ma.masked_invalid(values), vmin=0.5, vmax=1.0, cmap="viridis", aspect="auto")
            for (i, j), value in np.ndenumerate(values):
                if np.isfinite(value):
                    ink = "white" if value < 0.8 else "black"
                    best = value >= np.nanmax(values[:, j]) - 0.003
                    weight = "bold" if best else "normal"
                    axes.text(j, i, decimals(value), color=ink, weight=weight,
                              ha="center", va="center", fontsize=7)  # fmt: skip
            axes.set_title(title, loc="left")
            axes.set_yticks(range(len(detectors)), detectors)
            axes.set_xticks(range(len(settings)), settings, rotation=50, ha="right")
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        return svg_text(figure)


def _best_first(rows: Sequence[QualityRow]) -> list[str]:
    """Detectors by mean rank over the settings: a detector that skips hard settings gains nothing."""
    names = list(dict.fromkeys(row.detector for row in rows))
    ranks: dict[str, list[float]] = {name: [] for name in names}
    for setting in dict.fromkeys(row.setting for row in rows):
        ranked = sorted((row for row in rows if row.setting == setting), key=lambda row: -(row.figures["f"] or 0.0))
        for rank, row in enumerate(ranked):
            ranks[row.detector].append(rank)
    return sorted(names, key=lambda name: float(np.mean(ranks[name])))


def _grid(rows: Sequence[QualityRow], detectors: Sequence[str], settings: Sequence[str], key: str) -> Float64s:
    grid = np.full((len(detectors), len(settings)), np.nan)
    for row in rows:
        value = row.figures[key]
        if value is not None:
            grid[detectors.index(row.detector), settings.index(row.setting)] = value
    return grid
