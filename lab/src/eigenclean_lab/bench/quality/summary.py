"""Means over seeds of the cells of `eigenclean bench quality`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from eigenclean_lab.bench.quality.measure import FIGURES
from eigenclean_lab.store import Cell, measured_cells


@dataclass(frozen=True)
class Row:
    """A line of the table: the mean over the seeds that were measured, or why there is none."""

    setting: str
    detector: str
    seeds: int
    note: str
    figures: Mapping[str, float | None]


def summary_rows(cells: Iterable[Cell]) -> list[Row]:
    """Means over seeds, in the order of the cells; a figure that no seed has is None."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.task["setting"], cell.task["detector"]), []).append(cell)
    rows = []
    for (setting, detector), members in groups.items():
        measured = measured_cells(members)
        notes = [f"{cell.status}: {cell.note}" for cell in members if not cell.is_measured]
        figures = {figure: _mean(cell.figures.get(figure) for cell in measured) for figure in FIGURES}
        rows.append(Row(setting, detector, len(measured), next(iter(notes), ""), figures if measured else {}))
    return rows


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
