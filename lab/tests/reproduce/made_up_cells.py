"""Cells with made-up figures, for tests of tables, claims and pages."""

from typing import Any

from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.compare import Table, compare
from eigenclean_lab.reproduce.profile import Profile
from eigenclean_lab.reproduce.profiles import SMALL
from eigenclean_lab.reproduce.suite import task_key, task_record
from eigenclean_lab.reproduce.values import Experiment, Task
from eigenclean_lab.store import Cell

RISING = {"C10 S20": 0.1, "C10 S50": 0.2, "C10 S80": 0.3}


def cell(task: Task, seed: int = 0, **figures: Any) -> Cell:
    profile: Profile = figures.pop("profile", SMALL)
    status, note, curves = figures.pop("status", "measured"), figures.pop("note", ""), figures.pop("curves", {})
    key = task_key(task, profile, seed)
    return Cell(task_record(task, profile), seed, key, "code", status, note, figures, curves, command="how")


def cells_with(experiment: Experiment, value: Any, seeds: int = 2) -> list[Cell]:
    """Cells with whatever ``value(row, column, seed)`` description their figures are."""
    return [
        cell(Task(spec, column.data, column.noise), seed, **value(row.name, column.name, seed))
        for seed in range(seeds)
        for column in experiment.columns
        for row in experiment.rows
        for spec in row.specs
    ]


def shifts(first: dict[str, float], second: float) -> Table:
    experiment = EXPERIMENTS["table4"]
    figures = {"1st eigenvector": first, "2nd eigenvector": dict.fromkeys(first, second)}
    cells = cells_with(
        experiment, lambda row, column, seed: {"mean": figures[row][column] + 0.01 * seed, "deviation": 0.1}
    )
    return compare(experiment, cells, SMALL)
