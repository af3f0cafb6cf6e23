"""Confirm old cells for new code: measure a random sample of them again, and stamp them all if it comes out equal.

Renaming a function changes the fingerprint of every cell behind it, and measuring them all again takes days. A
random sample is evidence enough that nothing but names has changed, if the file says what was drawn and compared.

The last digits of a training depend on the processor and the number of threads, and a training amplifies them: on
another machine than that of the file, equal code yields unequal figures. There the previous code measures the
sample as well (`measure_reference`), and the present code is compared with that.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Protocol

import numpy as np

from eigenclean.errors import InvalidOption
from eigenclean.progress import track
from eigenclean_lab.store.cell import Cell, Restamp, measured_cells
from eigenclean_lab.store.measuring import today

TOLERANCE = 1e-9


class Suite(Protocol):
    """A kind of measurement that can be repeated."""

    @property
    def name(self) -> str:
        """What messages call the suite."""

    def request(self, cell: Cell) -> Cell:
        """The cell as the present code would ask for it, with the present key and code, and no figures."""

    def measure(self, request: Cell) -> Cell:
        """The requested cell, measured now."""

    def group(self, cell: Cell) -> str:
        """Cells of one group run the same code, so that a sample speaks for all of them."""

    def is_comparable(self, figure: str) -> bool:
        """Whether a figure must come out equal; times do not."""


@dataclass(frozen=True)
class CellComparison:
    """A cell beside its new measurement.

    Attributes:
        cell: as the file has it.
        expected: what the present code has to reproduce: the cell, or the reference of this machine.
        measured: as it was measured now.
        differences: figures and curves that differ by more than the tolerance, with their differences.
        worst: the largest difference of all that were compared.
    """

    cell: Cell
    expected: Cell
    measured: Cell
    differences: dict[str, float]
    worst: float

    @property
    def is_equal(self) -> bool:
        """Whether the cell came out as before."""
        return self.measured.is_measured and not self.differences


@dataclass(frozen=True)
class GroupReport:
    """The outcome of comparing one group of cells.

    Attributes:
        group: its name.
        size: cells that other code has measured.
        drawn_from: those of them that could be drawn: quick enough, and with figures other than times.
        comparisons: the cells that were measured again.
    """

    group: str
    size: int
    drawn_from: int
    comparisons: tuple[CellComparison, ...]

    @property
    def missing(self) -> tuple[CellComparison, ...]:
        """Drawn cells that could not be measured, for lack of data or a library."""
        return tuple(comparison for comparison in self.comparisons if comparison.measured.status == "missing")

    @property
    def compared(self) -> tuple[CellComparison, ...]:
        """Drawn cells without the missing ones."""
        return tuple(comparison for comparison in self.comparisons if comparison.measured.status != "missing")

    @property
    def different(self) -> tuple[CellComparison, ...]:
        """Drawn cells that failed or came out otherwise than before."""
        return tuple(comparison for comparison in self.compared if not comparison.is_equal)

    @property
    def is_confirmed(self) -> bool:
        """Whether at least one cell was compared, and all of those came out equal."""
        return bool(self.compared) and not self.different

    @property
    def worst(self) -> float:
        """Largest difference of all figures that were compared."""
        return max((comparison.worst for comparison in self.compared), default=0.0)


def restamp(
    cells: Sequence[Cell],
    suite: Suite,
    *,
    sample: int,
    seed: int = 0,
    max_seconds: float | None = None,
    tolerance: float = TOLERANCE,
    reference: Iterable[Cell] | None = None,
    pattern: str = "*",
    save: Callable[[Sequence[Cell]], None] | None = None,
) -> list[GroupReport]:
    """Measure a sample of each group again; stamp the groups that come out equal with the present key and code.

    Args:
        cells: all cells of a file.
        suite: how they are measured.
        sample: cells to draw from each group.
        seed: of the draw.
        max_seconds: draw only cells that took at most so long; None draws from all.
        tolerance: allowed difference of a figure, relative to figures above 1.
        reference: cells that the previous code has measured on this machine. Only these are drawn, and the present
            code is compared with them; None compares it with the file.
        pattern: of the names of the groups to compare, such as "*, confirmation".
        save: called with the stamped cells of a group as soon as it is confirmed.
    """
    _check_sample(sample)
    expected = {cell.identity: cell for cell in measured_cells(cells if reference is None else reference)}
    requests = {cell.identity: suite.request(cell) for cell in measured_cells(cells)}
    stale = [cell for cell in measured_cells(cells) if not cell.is_current(requests[cell.identity])]
    groups = {name: members for name, members in _group(stale, suite).items() if fnmatchcase(name, pattern)}
    reports = []
    for group, members in track(list(groups.items()), f"groups of {suite.name}"):
        drawn_from = [cell for cell in _affordable(members, suite, max_seconds) if cell.identity in expected]
        comparisons = tuple(
            compare(cell, expected[cell.identity], suite.measure(requests[cell.identity]), suite, tolerance)
            for cell in _draw(group, drawn_from, sample, seed)
        )
        report = GroupReport(group, len(members), len(drawn_from), comparisons)
        reports.append(report)
        if report.is_confirmed and save is not None:
            stamp = _stamp(report, suite, seed, tolerance, from_reference=reference is not None)
            compared = {comparison.cell.identity for comparison in report.compared}
            save(
                [
                    replace(
                        cell,
                        key=requests[cell.identity].key,
                        code=requests[cell.identity].code,
                        restamped=replace(stamp, measured_again=cell.identity in compared, previous_code=cell.code),
                    )
                    for cell in members
                ]
            )
    return reports


def measure_reference(
    cells: Sequence[Cell],
    suite: Suite,
    *,
    sample: int,
    seed: int = 0,
    max_seconds: float | None = None,
    save: Callable[[Sequence[Cell]], None],
) -> None:
    """Measure a sample of each group with the present code, for `restamp` with later code on the same machine.

    Args:
        cells: all cells of a file.
        suite: how they are measured.
        sample: cells to draw from each group.
        seed: of the draw.
        max_seconds: draw only cells that took at most so long; None draws from all.
        save: called with each measured cell.
    """
    _check_sample(sample)
    groups = _group(measured_cells(cells), suite)
    for group, members in track(list(groups.items()), f"groups of {suite.name}"):
        for cell in _draw(group, _affordable(members, suite, max_seconds), sample, seed):
            save([suite.measure(suite.request(cell))])


def _check_sample(sample: int) -> None:
    if sample < 1:
        raise InvalidOption(f"restamp: sample must be 1 or more, got {sample}")


def _group(cells: Iterable[Cell], suite: Suite) -> dict[str, list[Cell]]:
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(suite.group(cell), []).append(cell)
    return groups


def _affordable(cells: Iterable[Cell], suite: Suite, max_seconds: float | None) -> list[Cell]:
    """Cells that are quick enough and have figures other than times."""
    return [
        cell for cell in cells if _comparables(cell, suite) and (max_seconds is None or cell.seconds <= max_seconds)
    ]


def _draw(group: str, cells: Sequence[Cell], sample: int, seed: int) -> Iterator[Cell]:
    rng = np.random.default_rng([seed, *group.encode()])
    rows = np.sort(rng.permutation(len(cells))[:sample]).tolist()
    yield from (cells[row] for row in track(rows, group))


def compare(
    cell: Cell, expected: Cell, measured: Cell, suite: Suite, tolerance: float = TOLERANCE
) -> CellComparison:
    """Differences between the expected figures and curves of a cell and those measured now."""
    gaps = _gaps(expected, measured, suite) if measured.is_measured else {}
    differences = {name: gap for name, gap in gaps.items() if gap > tolerance}
    return CellComparison(cell, expected, measured, differences, max(gaps.values(), default=0.0))


def _gaps(before: Cell, after: Cell, suite: Suite) -> dict[str, float]:
    old, new = _comparables(before, suite), _comparables(after, suite)
    return {name: difference(old.get(name), new.get(name)) for name in {**old, **new}}


def _comparables(cell: Cell, suite: Suite) -> dict[str, Any]:
    """Everything about a cell that must come out equal: figures without times, curves, and the noisy labels."""
    figures = {name: value for name, value in cell.figures.items() if suite.is_comparable(name)}
    curves = {f"curve {name}": value for name, value in cell.curves.items()}
    noise = {"noise hash": cell.facts["noise_hash"]} if "noise_hash" in cell.facts else {}
    return {**figures, **curves, **noise}


def difference(before: Any, after: Any) -> float:
    """Largest difference of two plain values, relative to numbers above 1; infinite when their shapes differ.

    >>> difference([0.5, None], [0.25, None]), difference(200.0, 100.0), difference({"a": 1}, {"b": 1})
    (0.25, 0.5, inf)
    """
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return max((difference(before[name], after[name]) for name in before), default=0.0)
    if isinstance(before, list | tuple) and isinstance(after, list | tuple) and len(before) == len(after):
        return max((difference(*values) for values in zip(before, after, strict=True)), default=0.0)
    if isinstance(before, int | float) and isinstance(after, int | float):
        gap = abs(before - after) / max(1.0, abs(before))
        return float("inf") if np.isnan(gap) else gap
    return 0.0 if before == after else float("inf")


def _stamp(report: GroupReport, suite: Suite, seed: int, tolerance: float, *, from_reference: bool) -> Restamp:
    """What all cells of a group record about the comparison."""
    drifts = [max(_gaps(each.cell, each.expected, suite).values(), default=0.0) for each in report.compared]
    return Restamp(
        date=today(),
        group=report.group,
        group_size=report.size,
        drawn_from=report.drawn_from,
        drawn=len(report.compared),
        seed=seed,
        worst_difference=report.worst,
        tolerance=tolerance,
        measured_again=False,
        previous_code="",
        compared_with="previous code on this machine" if from_reference else "file",
        machine_difference=max(drifts, default=0.0),
    )
