"""`eigenclean bench restamp`: a file is stamped, left alone or refused by what is measured again."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eigenclean.cli.app import run
from eigenclean_lab.bench.quality.settings import SETTINGS
from eigenclean_lab.bench.quality.suite import FILE, QualitySuite, quality_store
from eigenclean_lab.store import Cell, Measured, measure_cell

Fake = Callable[[Cell], dict[str, float | None]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command on a folder of its own; every measurement gives ``figures`` of the cell."""

    def invoke(*options: str, figures: Fake = lambda cell: {"f": 0.5 + cell.seed / 3, "seconds": 9.0}) -> int:
        def measure(suite: QualitySuite, request: Cell) -> Cell:
            return measure_cell(request, lambda: Measured(figures(request)))

        monkeypatch.setattr(QualitySuite, "measure", measure)
        return run(["bench", "restamp", "quality", "--out", str(tmp_path), *options])

    return invoke


def old_cells(detector: str, seeds: int, **more: Any) -> list[Cell]:
    """Cells as an earlier version of the code has left them."""
    suite, setting = QualitySuite(), SETTINGS["digits/sym-20"]
    requests = [suite.new_request(detector, setting, seed) for seed in range(seeds)]
    return [
        replace(
            request,
            code="0123456789abcdef",
            status="measured",
            figures={"f": 0.5 + request.seed / 3, "seconds": 1.0},
            seconds=1.0,
            **more,
        )
        for request in requests
    ]


def test_only_groups_that_match_are_compared(
    command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = quality_store(tmp_path / FILE)
    store.write([*old_cells("fine", 2), *old_cells("knn", 2)])
    assert command("--groups", "knn*", "--json") == 0
    reports = json.loads(capsys.readouterr().out)["quality"]
    assert [report["group"] for report in reports] == ["knn, development"]
    assert [cell.restamped is not None for cell in store.read()] == [
        cell.task["detector"] == "knn" for cell in store.read()
    ]


def test_equal_cells_are_stamped_with_the_present_code_and_keep_their_numbers(
    command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, before = quality_store(tmp_path / FILE), old_cells("fine", 5)
    store.write(before)
    assert command("--sample", "2", "--seed", "3", "--json") == 0
    (report,) = json.loads(capsys.readouterr().out)["quality"]
    assert (report["group"], report["cells"], report["drawn"], report["stamped"]) == (
        "fine, development",
        5,
        2,
        True,
    )
    after = store.read()
    assert [cell.figures for cell in after] == [cell.figures for cell in before]  # also the old seconds
    present = QualitySuite().new_request("fine", SETTINGS["digits/sym-20"], 0).code
    assert {cell.code for cell in after} == {present}
    stamps = [cell.restamped for cell in after if cell.restamped is not None]
    assert len(stamps) == 5 and sum(stamp.measured_again for stamp in stamps) == 2
    assert {(stamp.seed, stamp.drawn, stamp.previous_code) for stamp in stamps} == {(3, 2, "0123456789abcdef")}


def test_a_second_run_has_nothing_to_do(
    command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quality_store(tmp_path / FILE).write(old_cells("fine", 2))
    assert command() == 0
    written = (tmp_path / FILE).read_bytes()
    capsys.readouterr()
    assert command(figures=lambda cell: pytest.fail("measured again")) == 0
    assert "quality: all cells are from the present code" in capsys.readouterr().out
    assert (tmp_path / FILE).read_bytes() == written


def test_a_different_cell_is_named_and_its_group_stays_as_it_was(
    command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = quality_store(tmp_path / FILE)
    store.write([*old_cells("fine", 2), *old_cells("knn", 2)])

    def figures(cell: Cell) -> dict[str, float | None]:
        off = 0.25 if cell.task["detector"] == "fine" else 0.0
        return {"f": 0.5 + cell.seed / 3 + off, "seconds": 1.0}

    assert command("--sample", "1", figures=figures) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert '"detector": "fine"' in shown and "differs: f by 0.25" in shown
    codes = {cell.task["detector"]: cell.code for cell in store.read()}
    assert codes["fine"] == "0123456789abcdef" != codes["knn"]


def test_a_cell_that_fails_is_a_difference(
    command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(cell: Cell) -> dict[str, float | None]:
        raise ZeroDivisionError("no rows")

    store = quality_store(tmp_path / FILE)
    store.write(old_cells("fine", 1))
    assert command("--json", figures=broken) == 1
    (report,) = json.loads(capsys.readouterr().out)["quality"]
    assert not report["stamped"] and report["different"][0]["note"] == "ZeroDivisionError: no rows"
    assert store.read() == old_cells("fine", 1)


def test_the_tolerance_and_the_time_limit_are_those_of_the_options(
    command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = quality_store(tmp_path / FILE)
    store.write(old_cells("fine", 1))

    def figures(cell: Cell) -> dict[str, float | None]:
        return {"f": 0.5 + 1e-5, "seconds": 1.0}

    assert command("--max-cell-seconds", "0.5", figures=figures) == 0  # nothing could be drawn
    assert "no cell could be drawn" in capsys.readouterr().out
    assert store.read() == old_cells("fine", 1)
    assert command("--tolerance", "1e-6", figures=figures) == 1
    assert command("--tolerance", "1e-4", figures=figures) == 0
    (stamped,) = store.read()
    assert stamped.restamped is not None
    assert stamped.restamped.worst_difference == pytest.approx(1e-5)
    assert stamped.figures["f"] == 0.5  # the number that was measured first


def test_an_unknown_suite_or_profile_is_one_sentence(
    command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (["speed"], ["paper", "--profile", "large"]):
        assert run(["bench", "restamp", *arguments, "--out", str(tmp_path)]) == 2
        said = capsys.readouterr().err.strip()
        assert "must be one of" in said and "\n" not in said
