"""The paper's numbers beside the measured ones: means over seeds, differences, and which of two rows is better."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigenclean_lab.reproduce.profile import Profile
from eigenclean_lab.reproduce.profile_experiment import in_profile
from eigenclean_lab.reproduce.released_code import task_in
from eigenclean_lab.reproduce.suite import task_key, task_record
from eigenclean_lab.reproduce.values import Column, Experiment, Metric, Number, TableRow
from eigenclean_lab.store import Cell

Key = tuple[str, str, str]  # row, column, metric or kind


@dataclass(frozen=True)
class Entry:
    """One figure of one cell of a table, in the paper's unit.

    Attributes:
        paper: what the paper says; None when it says nothing.
        measured: mean and deviation over the seeds; None when nothing was measured.
        change: mean difference to the row that this one is compared with, over the seeds that both have; None when
            it is the paper that it is compared with.
        seeds: how many.
        note: why nothing was measured.
        is_papers: whether data and networks are the paper's: elsewhere the difference to its number says nothing.
    """

    paper: Number | None
    measured: Number | None
    change: float | None = None
    seeds: int = 0
    note: str = ""
    is_papers: bool = True

    @property
    def difference(self) -> float | None:
        """The change against the row it belongs to, or against the paper's number where that can be compared."""
        if self.change is not None or self.measured is None or self.paper is None or not self.is_papers:
            return self.change
        return self.measured.mean - self.paper.mean


@dataclass(frozen=True)
class Table:
    """An experiment with its numbers.

    Attributes:
        experiment: rows, columns and metrics.
        entries: by row, column and metric.
        cells: by row, column and kind, one for each seed.
        is_papers: whether data and networks are the paper's.
    """

    experiment: Experiment
    entries: Mapping[Key, Entry]
    cells: Mapping[Key, list[Cell]]
    is_papers: bool = True

    @property
    def is_measured(self) -> bool:
        """Whether anything was measured."""
        return any(entry.measured is not None for entry in self.entries.values())

    @property
    def notes(self) -> dict[str, list[str]]:
        """Reasons why cells are missing or have failed, with the cells."""
        notes: dict[str, list[str]] = {}
        for (row, column, _), entry in self.entries.items():
            if entry.note and f"{row} in {column}" not in notes.setdefault(entry.note, []):
                notes[entry.note].append(f"{row} in {column}")
        return notes

    def value(self, row: str, column: str, figure: str) -> float | None:
        """The measured mean."""
        entry = self.entries.get((row, column, figure))
        return None if entry is None or entry.measured is None else entry.measured.mean

    def in_columns(self, names: Collection[str]) -> "Table":
        """The table with only the columns of these names."""
        columns = tuple(column for column in self.experiment.columns if column.name in names)
        return replace(self, experiment=replace(self.experiment, columns=columns))

    def paired(self, rows: Sequence[str], column: str, figure: str) -> list[float] | None:
        """The measured means of these rows over the seeds that all of them have; None if there is no such seed."""
        metric = next(metric for metric in self.experiment.metrics if metric.key == figure)
        by_row = [values(self.cells.get((row, column, metric.kind), ()), metric) for row in rows]
        seeds = set.intersection(*map(set, by_row)) if by_row else set()
        return [float(np.mean([of_row[seed] for seed in sorted(seeds)])) for of_row in by_row] if seeds else None

    def over_common_seeds(self, column: str, metric: Metric) -> dict[str, Number]:
        """By row that was measured, mean and deviation over the seeds that all these rows have.

        Draws differ by more than methods do: means over other seeds cannot be compared. Where no seed is common,
        each row has its own.
        """
        by_row = {
            row.name: values(self.cells[row.name, column, metric.kind], metric) for row in self.experiment.rows
        }
        measured = {row: by_seed for row, by_seed in by_row.items() if by_seed}
        common = set.intersection(*map(set, measured.values())) if measured else set()
        return {
            row: over_seeds([by_seed[seed] for seed in sorted(common or by_seed)])
            for row, by_seed in measured.items()
        }


def compare(experiment: Experiment, cells: Iterable[Cell], profile: Profile) -> Table:
    """The table of an experiment; cells that were measured with other settings of the profile are left out."""
    experiment = in_profile(experiment, profile)
    by_task: dict[str, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: cell.seed):
        by_task.setdefault(_key(cell.task), []).append(cell)
    entries: dict[Key, Entry] = {}
    placed: dict[Key, list[Cell]] = {}
    for column in experiment.columns:
        for row in experiment.rows:
            for metric in experiment.metrics:
                members = _cells_of(row, column, metric, by_task, profile)
                placed[row.name, column.name, metric.kind] = members
                entry = _entry(experiment, row, column, metric, members)
                entries[row.name, column.name, metric.key] = replace(entry, is_papers=profile.is_papers)
    for row in experiment.rows:
        if row.against is not None:
            _compare_rows(entries, placed, experiment, row.name, row.against)
    return Table(experiment, entries, placed, profile.is_papers)


def values(cells: Iterable[Cell], metric: Metric) -> dict[int, float]:
    """The figure in the paper's unit, by seed; without what was not measured."""
    return {
        cell.seed: metric.scale * value
        for cell in cells
        if cell.is_measured and (value := cell.figures.get(metric.figure)) is not None
    }


def over_seeds(by_seed: Sequence[float]) -> Number:
    """Mean and deviation; one seed has no deviation.

    >>> over_seeds([1.0, 3.0]).mean, over_seeds([1.0])
    (2.0, Number(mean=1.0, deviation=None))
    """
    deviation = float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else None
    return Number(float(np.mean(by_seed)), deviation)


def _key(task: Mapping[str, object]) -> str:
    return repr(sorted((name, str(value)) for name, value in task.items()))


def _cells_of(
    row: TableRow, column: Column, metric: Metric, by_task: Mapping[str, list[Cell]], profile: Profile
) -> list[Cell]:
    for spec in row.specs:
        if spec.kind == metric.kind:
            task = task_in(spec, column)
            cells = by_task.get(_key(task_record(task, profile)), [])
            return [cell for cell in cells if cell.key == task_key(task, profile, cell.seed)]
    return []


def _entry(experiment: Experiment, row: TableRow, column: Column, metric: Metric, cells: list[Cell]) -> Entry:
    paper = experiment.paper.get(metric.key, {}).get((row.name, column.name))
    by_seed = list(values(cells, metric).values())
    note = next((f"{cell.status}: {cell.note}" for cell in cells if not cell.is_measured), "")
    if not by_seed:
        return Entry(paper, None, note=note)
    return Entry(paper, over_seeds(by_seed), None, len(by_seed), note)


def _compare_rows(
    entries: dict[Key, Entry], placed: Mapping[Key, list[Cell]], experiment: Experiment, row: str, against: str
) -> None:
    for column in experiment.columns:
        for metric in experiment.metrics:
            ours, theirs = (placed.get((name, column.name, metric.kind), []) for name in (row, against))
            gaps_by_seed = _paired_differences(ours, theirs, metric)
            change = float(np.mean(gaps_by_seed)) if gaps_by_seed else None
            key = (row, column.name, metric.key)
            entries[key] = replace(entries[key], change=change)


def _paired_differences(ours: Iterable[Cell], theirs: Iterable[Cell], metric: Metric) -> list[float]:
    """Differences of a figure, seed by seed: other seeds are other images and other errors."""
    first, second = values(ours, metric), values(theirs, metric)
    return [first[seed] - second[seed] for seed in first if seed in second]


@dataclass(frozen=True)
class Gap:
    """How much better the first of two rows is.

    Attributes:
        mean: over the seeds that both rows have.
        deviation: over the same; None for one seed.
        paper: the same difference in the paper; None where it has no number for one of them.
        lowest: with the seed that has the smallest difference; None for one seed.
    """

    mean: float
    deviation: float | None
    paper: float | None
    lowest: float | None = None


def gaps(table: Table, better: str, other: str, metric: Metric) -> dict[str, Gap]:
    """By the name of the setting; without those in which a row was not measured."""
    differences_by_setting = {}
    printed = table.experiment.paper.get(metric.key, {})
    for column in (setting.name for setting in table.experiment.columns):
        ours, theirs = (table.cells.get((row, column, metric.kind), ()) for row in (better, other))
        differences = _paired_differences(ours, theirs, metric)
        if differences:
            pair = [printed[row, column].mean for row in (better, other) if (row, column) in printed]
            measured = over_seeds(differences)
            differences_by_setting[column] = Gap(
                measured.mean,
                measured.deviation,
                pair[0] - pair[1] if len(pair) == 2 else None,
                min(differences) if len(differences) > 1 else None,
            )
    return differences_by_setting
