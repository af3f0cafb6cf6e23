"""Means and deviations over seeds of the cells of `eigenclean bench train`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from eigenclean.train import RECIPES, Recipe, recipe
from eigenclean_lab.bench.training.measure import FIGURES
from eigenclean_lab.store import Cell, measured_cells


@dataclass(frozen=True)
class Row:
    """A line of the table: mean and deviation over the seeds that were measured, or why there are none."""

    setting: str
    recipe: str
    seeds: int
    note: str
    mean: Mapping[str, float]
    deviation: Mapping[str, float]


def summary_rows(cells: Iterable[Cell]) -> list[Row]:
    """Means over seeds by setting, in the order of the cells; the deviation is that of a sample."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.task["setting"], cell.task["recipe"]), []).append(cell)
    rows = []
    for (setting, name), members in groups.items():
        measured = measured_cells(members)
        notes = [f"{cell.status}: {cell.note}" for cell in members if not cell.is_measured]
        values = (
            {figure: [cell.figures[figure] or 0.0 for cell in measured] for figure in FIGURES} if measured else {}
        )
        mean = {figure: float(np.mean(of_seeds)) for figure, of_seeds in values.items()}
        deviation = {
            figure: float(np.std(of_seeds, ddof=1)) for figure, of_seeds in values.items() if len(of_seeds) > 1
        }
        rows.append(Row(setting, name, len(measured), next(iter(notes), ""), mean, deviation))
    return rows


def by_family(names: Iterable[str]) -> list[str]:
    """The names, with recipes side by side that differ only in their selector: F-X follows X.

    >>> by_family(["gce+fine", "judge", "f-coteaching", "gce", "co-teaching", "fine", "standard"])
    ['standard', 'fine', 'judge', 'co-teaching', 'f-coteaching', 'gce', 'gce+fine']
    """
    families: list[tuple[Recipe, list[str]]] = []
    for name in RECIPES:
        with_fine = recipe(name).with_selector("fine")
        members = next((members for common, members in families if common == with_fine), None)
        if members is None:
            families.append((with_fine, [name]))
        else:
            members.append(name)
    wanted = set(names)
    return [name for _, members in families for name in members if name in wanted]
