"""`export`: which rows are written, in which order, with which texts."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from eigenclean.errors import EigencleanError, InvalidOption
from eigenclean.report.exports import EXPORTS
from eigenclean.verdict import Verdict
from eigenclean.workflows import export_run


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_all_rows_are_in_the_order_of_the_data_and_flagged_ones_worst_first(finished: Path, tmp_path: Path) -> None:
    verdict = Verdict.load(finished)
    assert export_run(finished, "csv", tmp_path / "all.csv").n_rows == 240
    every = rows_of(tmp_path / "all.csv")
    assert [row["id"] for row in every] == verdict.ids.tolist()
    np.testing.assert_allclose([float(row["label_score"]) for row in every], verdict.p_clean, rtol=1e-12)
    exported = export_run(finished, "csv", tmp_path / "flagged.csv", all_rows=False)
    flagged = rows_of(tmp_path / "flagged.csv")
    assert exported.n_rows == len(flagged) == verdict.n_flagged
    scores = [float(row["label_score"]) for row in flagged]
    assert scores == sorted(scores) and {row["is_label_issue"] for row in flagged} == {"true"}


def test_every_row_has_its_own_text(finished: Path, tmp_path: Path) -> None:
    export_run(finished, "csv", tmp_path / "flagged.csv", all_rows=False)
    for row in rows_of(tmp_path / "flagged.csv"):
        assert row["text"] == f"text of {row['id'].removeprefix('row')}"
    export_run(finished, "label-studio", tmp_path / "tasks.json")
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [task["data"]["text"] for task in tasks] == [
        f"text of {task['data']['id'].removeprefix('row')}" for task in tasks
    ]


@pytest.mark.parametrize("name", EXPORTS)
def test_the_default_rows_are_those_of_the_tool(finished: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / f"out{EXPORTS[name].suffixes[0]}"
    exported = export_run(finished, name, out, images=None if name != "fiftyone" else tmp_path)
    verdict = Verdict.load(finished)
    assert exported.all_rows is EXPORTS[name].everything
    assert exported.n_rows == (len(verdict) if exported.all_rows else verdict.n_flagged)
    assert out.stat().st_size > 0


@pytest.mark.parametrize("lost", ["data", "summary", "record"])
def test_data_that_cannot_be_opened_leave_the_texts_out(finished: Path, tmp_path: Path, lost: str) -> None:
    summary = finished / "summary.json"
    content = json.loads(summary.read_text())
    (finished / "manifest.json").unlink()  # it describes the summary as it was
    if lost == "summary":
        summary.unlink()
    else:
        content["source"] = None if lost == "record" else {**content["source"], "name": "gone.npz"}
        summary.write_text(json.dumps(content))
    messages: list[str] = []
    export_run(finished, "csv", tmp_path / "all.csv", notify=messages.append)
    assert "text" not in rows_of(tmp_path / "all.csv")[0] and messages == []
    with pytest.raises(EigencleanError, match="shows texts or images, and this run has neither"):
        export_run(finished, "argilla", tmp_path / "tasks.json")


@pytest.mark.parametrize(("name", "out"), [("csv", "x.json"), ("fiftyone", "x.csv"), ("cleanlab", "x")])
def test_a_file_that_the_tool_does_not_read_is_refused(finished: Path, tmp_path: Path, name: str, out: str) -> None:
    with pytest.raises(InvalidOption, match=f"--to {name} writes a"):
        export_run(finished, name, tmp_path / out)
    assert not (tmp_path / out).exists()
