"""Old cells are accepted for new code only when a random sample of them comes out equal."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from eigenclean.errors import InvalidOption
from eigenclean_lab.store import Cell, measure_reference, restamp
from eigenclean_lab.store.restamp import difference


@dataclass
class Suite:
    """Measures what ``changed`` says, else the number that the old code measured."""

    changed: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    missing: tuple[int, ...] = ()
    measured: list[int] = field(default_factory=list)
    name = "test"

    def request(self, cell: Cell) -> Cell:
        return replace(cell, key="new", code="new", status="missing", figures={}, curves={}, seconds=0.0)

    def measure(self, request: Cell) -> Cell:
        seed = request.seed
        self.measured.append(seed)
        if seed in self.missing:
            return replace(request, status="missing", note="needs data")
        figures = {"f": seed / 7, "seconds": 99.0, **self.changed.get(seed, {})}
        return replace(request, status="measured", figures=figures, curves={"loss": [1.0, None]})

    def group(self, cell: Cell) -> str:
        return str(cell.task["detector"])

    def is_comparable(self, figure: str) -> bool:
        return figure != "seconds"


def old_cells(detector: str, seeds: range, **more: Any) -> list[Cell]:
    return [
        replace(
            Cell({"detector": detector}, seed, "old", "old", "measured", seconds=float(seed)),
            figures={"f": seed / 7, "seconds": 1.0},
            curves={"loss": [1.0, None]},
            **more,
        )
        for seed in seeds
    ]


def test_an_equal_sample_stamps_its_group_and_says_what_was_drawn() -> None:
    suite, saved = Suite(), list[Cell]()
    cells = old_cells("fine", range(10))
    (report,) = restamp(cells, suite, sample=3, seed=5, save=saved.extend)
    assert report.is_confirmed and len(suite.measured) == 3
    assert [(cell.key, cell.code, cell.figures) for cell in saved] == [
        ("new", "new", cell.figures) for cell in cells
    ]
    stamps = [cell.restamped for cell in saved]
    assert [cell.seed for cell in saved if cell.restamped and cell.restamped.measured_again] == suite.measured
    for stamp in stamps:
        assert stamp is not None
        assert (stamp.group, stamp.group_size, stamp.drawn_from, stamp.drawn) == ("fine", 10, 10, 3)
        assert (stamp.seed, stamp.worst_difference, stamp.previous_code) == (5, 0.0, "old")


def test_the_draw_depends_on_its_seed_alone() -> None:
    def drawn(seed: int) -> list[int]:
        suite = Suite()
        restamp(old_cells("fine", range(50)), suite, sample=5, seed=seed)
        return suite.measured

    assert drawn(1) == drawn(1) != drawn(2)


@pytest.mark.parametrize(
    "changed", [{"f": 3 / 7 + 1e-6}, {"f": None}, {"another": 1.0}, {"f": float("nan")}], ids=str
)
def test_a_different_figure_refuses_its_group_only(changed: dict[str, Any]) -> None:
    saved: list[Cell] = []
    cells = [*old_cells("fine", range(3, 4)), *old_cells("knn", range(4, 6))]
    fine, knn = restamp(cells, Suite({3: changed}), sample=2, save=saved.extend)
    assert not fine.is_confirmed and knn.is_confirmed
    (comparison,) = fine.different
    assert comparison.cell == cells[0] and comparison.differences
    assert {cell.task["detector"] for cell in saved} == {"knn"}


def test_differences_within_the_tolerance_are_recorded() -> None:
    (report,) = restamp(old_cells("fine", range(3, 4)), Suite({3: {"f": 3 / 7 + 1e-12}}), sample=1)
    assert report.is_confirmed and 0 < report.worst < 1e-11


def test_a_changed_curve_is_a_difference() -> None:
    (report,) = restamp(old_cells("fine", range(1)), Suite(), sample=1)
    assert report.is_confirmed
    cells = [replace(old_cells("fine", range(1))[0], curves={"loss": [1.0, 2.0]})]
    (report,) = restamp(cells, Suite(), sample=1)
    assert list(report.different[0].differences) == ["curve loss"]


def test_cells_that_cannot_be_measured_prove_nothing() -> None:
    saved: list[Cell] = []
    (report,) = restamp(old_cells("fine", range(2)), Suite(missing=(0, 1)), sample=2, save=saved.extend)
    assert not report.is_confirmed and not report.different and len(report.missing) == 2 and saved == []


def test_slow_cells_and_cells_of_times_alone_are_not_drawn() -> None:
    suite = Suite()
    (report,) = restamp(old_cells("fine", range(10)), suite, sample=10, max_seconds=3)
    assert suite.measured == [0, 1, 2, 3] and (report.size, report.drawn_from) == (10, 4)
    times = [replace(cell, figures={"seconds": 1.0}, curves={}) for cell in old_cells("fine", range(3))]
    (report,) = restamp(times, Suite(), sample=1)
    assert report.drawn_from == 0 and not report.is_confirmed


def test_current_cells_are_left_alone() -> None:
    suite = Suite()
    current = [replace(cell, key="new", code="new") for cell in old_cells("fine", range(3))]
    assert restamp(current, suite, sample=1) == [] and suite.measured == []
    with pytest.raises(InvalidOption, match="sample must be 1 or more"):
        restamp(current, suite, sample=0)


def test_on_another_machine_the_previous_code_is_the_reference() -> None:
    """Figures of this machine differ from the file by .01; the code before and after agree."""
    drifted = {seed: {"f": seed / 7 + 0.01} for seed in range(10)}
    cells, reference, saved = old_cells("fine", range(10)), list[Cell](), list[Cell]()
    measure_reference(cells, Suite(drifted), sample=3, seed=5, max_seconds=8, save=reference.extend)
    assert len(reference) == 3

    suite = Suite(drifted)
    (report,) = restamp(cells, suite, sample=5, reference=reference, save=saved.extend)
    assert report.is_confirmed and suite.measured == [cell.seed for cell in reference]
    assert [cell.figures for cell in saved] == [cell.figures for cell in cells]
    assert saved[0].restamped is not None
    assert saved[0].restamped.compared_with == "previous code on this machine"
    assert saved[0].restamped.machine_difference == pytest.approx(0.01)
    assert saved[0].restamped.worst_difference == 0.0
    assert Cell.from_record(saved[0].to_record()) == saved[0]

    (report,) = restamp(cells, Suite(), sample=5, reference=reference)
    assert len(report.different) == 3, "code that differs from the reference must be refused"


def test_a_group_without_reference_is_not_confirmed() -> None:
    (report,) = restamp(old_cells("fine", range(3)), Suite(), sample=1, reference=[])
    assert report.drawn_from == 0 and not report.is_confirmed


def test_shapes_and_missing_values_differ_infinitely() -> None:
    for before, after in (([1.0], [1.0, 2.0]), (None, 0.0), ({"a": 1}, {"b": 1}), ("ab", "cd")):
        assert difference(before, after) == float("inf")
    assert difference(None, None) == difference("ab", "ab") == 0.0
