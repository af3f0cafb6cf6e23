"""The paper beside what was measured: means over seeds, differences, and what the paper says about the order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eigenclean_lab.reproduce.cells import Cell, fingerprint
from eigenclean_lab.reproduce.profiles import Profile
from eigenclean_lab.reproduce.values import Experiment, Line, Number, Setting, Shown, Task

Key = tuple[str, str, str]  # row, column, figure


@dataclass(frozen=True)
class Entry:
    """One figure of one cell of a table, in the paper's unit.

    Attributes:
        paper: what the paper says; None when it says nothing.
        measured: mean and deviation over the seeds; None when nothing was measured.
        against: mean of the row that this one is compared with; None when it is the paper that it is compared with.
        seeds: how many.
        note: why nothing was measured.
    """

    paper: Number | None
    measured: Number | None
    against: float | None = None
    seeds: int = 0
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Measured minus the paper's, or minus the row it belongs to."""
        base = self.against if self.against is not None else None if self.paper is None else self.paper.mean
        return None if base is None or self.measured is None else self.measured.mean - base


@dataclass(frozen=True)
class Table:
    """An experiment with its numbers.

    Attributes:
        experiment: what.
        entries: by row, column and figure.
        cells: by row, column and kind, one for each seed.
    """

    experiment: Experiment
    entries: Mapping[Key, Entry]
    cells: Mapping[Key, list[Cell]]

    @property
    def is_measured(self) -> bool:
        """Was anything measured?"""
        return any(entry.measured is not None for entry in self.entries.values())

    @property
    def notes(self) -> dict[str, list[str]]:
        """What is missing or failed, and where."""
        found: dict[str, list[str]] = {}
        for (row, column, _), entry in self.entries.items():
            if entry.note and f"{row} in {column}" not in found.setdefault(entry.note, []):
                found[entry.note].append(f"{row} in {column}")
        return found

    def value(self, row: str, column: str, figure: str) -> float | None:
        """The measured mean."""
        entry = self.entries.get((row, column, figure))
        return None if entry is None or entry.measured is None else entry.measured.mean


def compare(experiment: Experiment, cells: Iterable[Cell], profile: Profile) -> Table:
    """Put the cells where they belong; those of a profile that has changed since belong nowhere."""
    by_task: dict[str, list[Cell]] = {}
    for cell in sorted(cells, key=lambda one: one.seed):
        by_task.setdefault(_key(cell.task), []).append(cell)
    entries: dict[Key, Entry] = {}
    placed: dict[Key, list[Cell]] = {}
    for column in experiment.columns:
        for row in experiment.rows:
            for shown in experiment.figures:
                own = _of(row, column, shown, by_task, profile)
                placed[row.name, column.name, shown.kind] = own
                entries[row.name, column.name, shown.key] = _entry(experiment, row, column, shown, own)
    for row in experiment.rows:
        if row.against is not None:
            _compare_rows(entries, experiment, row.name, row.against)
    return Table(experiment, entries, placed)


def values(cells: Iterable[Cell], shown: Shown) -> dict[int, float]:
    """The figure in the paper's unit, by seed; without what was not measured."""
    return {
        cell.seed: shown.scale * cell.figures[shown.figure]
        for cell in cells
        if cell.status == "measured" and cell.figures.get(shown.figure) is not None
    }


def over_seeds(found: Sequence[float]) -> Number:
    """Mean and deviation; one seed has no deviation.

    >>> over_seeds([1.0, 3.0]).mean, over_seeds([1.0])
    (2.0, Number(mean=1.0, deviation=None))
    """
    deviation = float(np.std(found, ddof=1)) if len(found) > 1 else None
    return Number(float(np.mean(found)), deviation)


def _key(task: Mapping[str, object]) -> str:
    return repr(sorted((name, str(value)) for name, value in task.items()))


def _of(
    row: Line, column: Setting, shown: Shown, by_task: Mapping[str, list[Cell]], profile: Profile
) -> list[Cell]:
    for one in row.parts:
        if one.kind == shown.kind:
            task = Task(one, column.data, column.noise)
            there = by_task.get(_key(task.as_dict()), [])
            return [cell for cell in there if cell.key == fingerprint(task, profile, cell.seed)]
    return []


def _entry(experiment: Experiment, row: Line, column: Setting, shown: Shown, own: list[Cell]) -> Entry:
    paper = experiment.paper.get(shown.key, {}).get((row.name, column.name))
    found = list(values(own, shown).values())
    note = next((f"{cell.status}: {cell.note}" for cell in own if cell.status != "measured"), "")
    if not found:
        return Entry(paper, None, note=note)
    return Entry(paper, over_seeds(found), None, len(found), note)


def _compare_rows(entries: dict[Key, Entry], experiment: Experiment, row: str, against: str) -> None:
    for column in experiment.columns:
        for shown in experiment.figures:
            own, other = entries[row, column.name, shown.key], entries.get((against, column.name, shown.key))
            base = None if other is None or other.measured is None else other.measured.mean
            entries[row, column.name, shown.key] = Entry(own.paper, own.measured, base, own.seeds, own.note)
