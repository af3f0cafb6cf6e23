"""The benchmark of annotators: its crowds, its calibration error, and a whole run on digits."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from eigenclean_lab.bench.annotators import crowds, intervals, run
from eigenclean_lab.cli.bench import bench


def test_a_simulated_crowd_is_as_said() -> None:
    truth = np.random.default_rng(0).integers(0, 4, 3000)
    given = crowds.simulate(truth, np.ones((4, 4)), seed=0)
    assert given.per_row.min() == 1 and given.per_row.max() == crowds.MOST_PER_ROW
    right = np.bincount(given.annotators, truth[given.rows] == given.codes) / given.per_annotator
    assert abs(right[0] - 0.25) < 0.08 and right[1] < 0.1 and abs(right[2] - 0.25) < 0.08
    assert right[3:].mean() == pytest.approx(0.8, abs=0.06)


def test_calibration_error_is_that_of_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    posterior, truth = rng.dirichlet(np.ones(3), 200), rng.integers(0, 3, 200)
    confidence, right = posterior.max(axis=1), posterior.argmax(axis=1) == truth
    slow = 0.0
    for low in np.arange(15) / 15:
        inside = (confidence >= low) & (confidence < low + 1 / 15)
        slow += abs(confidence[inside].sum() - right[inside].sum()) / 200
    assert run.consensus_calibration_error(posterior, truth) == pytest.approx(slow)


def test_people_need_their_file(tmp_path: Path) -> None:
    measured = run.measure("people, 3 labels per row", tmp_path, 0)
    assert measured.passed is None and "cifar10_lite1_20k.npz" in str(measured.note)


def test_people_may_leave_gaps(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels: dict[str, Any] = {name: rng.integers(0, 10, 60) for name in ("clean", "aggre", *crowds.HUMAN_SETS)}
    np.savez(tmp_path / "cifar10_lite1_20k.npz", features=rng.normal(size=(60, 3)), **labels)
    whole, gaps = crowds.people(tmp_path, 0), crowds.people_with_gaps(tmp_path, 0)
    assert len(whole.annotations.rows) == 180 and set(gaps.annotations.per_row.tolist()) == {1, 2, 3}


@pytest.mark.slow
def test_a_quick_run() -> None:
    result = CliRunner().invoke(bench, ["annotators", "--quick", "--json"])
    assert result.exit_code == 0
    (crowd,) = json.loads(result.stdout)["crowds"]
    assert crowd["consensus"] > crowd["labels_alone"] > crowd["majority"]


def test_intervals_hold_where_errors_are_independent_only() -> None:
    alone, together = (intervals.measure(1000, shared, 2) for shared in (0.0, 0.5))
    assert alone.coverage == 1.0 and together.coverage < 0.5 and together.bias > 0.01
    assert alone.same_error == pytest.approx(1.0, abs=0.3) and together.same_error > 2
    assert alone.measured == 6


def test_the_page_shows_the_intervals() -> None:
    root = Path(__file__).resolve().parents[3]
    results = json.loads((root / "results" / intervals.FILE).read_text(encoding="utf-8"))
    page = (root / "docs" / "howto" / "annotators.md").read_text(encoding="utf-8").splitlines()
    assert [row for row in intervals.page_rows(results) if row not in page] == []


def test_the_command_simulates_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "SIZES", (200,))
    monkeypatch.setattr(intervals, "SHARED", (0.0,))
    shown = CliRunner().invoke(bench, ["annotators", "--intervals", "--out", str(tmp_path)])
    assert shown.exit_code == 0 and "hold the quality" in shown.output
    assert len(json.loads((tmp_path / intervals.FILE).read_text())["rows"]) == 1
    assert json.loads(CliRunner().invoke(bench, ["annotators", "--intervals", "--quick", "--json"]).output)["rows"]
