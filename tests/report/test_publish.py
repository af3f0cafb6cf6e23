"""The results of a run are written once, with everything that is known about it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eigenclean.metrics import noise_rate_interval, reliability_curve
from eigenclean.report import add_evaluation, publish, render, results_folder
from eigenclean.sources.arrays.memory import MemorySource
from eigenclean.verdict import Verdict

Make = Callable[..., Verdict]


def _source(verdict: Verdict) -> MemorySource:
    return MemorySource("pets", np.eye(len(verdict), 4, dtype=np.float32), verdict.labels)


def test_facts_and_the_interval_are_in_the_summary(tmp_path: Path, make: Make) -> None:
    verdict = make()
    facts = {"decision": {"rule": "budget"}, "auto": {"chosen": "knn"}}
    summary = publish(tmp_path, verdict, _source(verdict), seconds=1.5, facts=facts)
    assert summary == json.loads((tmp_path / "summary.json").read_text())
    assert summary["estimated_noise_rate_interval"] == list(noise_rate_interval(verdict.p_clean))
    assert {key: summary[key] for key in facts} == facts
    assert summary["seconds"] == 1.5
    assert list(summary)[-1] == "per_class"  # it is long
    assert "Measured against" not in (tmp_path / "report.html").read_text()


def test_what_is_known_of_the_truth_is_in_the_report(tmp_path: Path, make: Make) -> None:
    verdict = make()
    curve = reliability_curve(verdict.p_clean, ~verdict.flagged)
    publish(tmp_path, verdict, _source(verdict), quality={"auroc": 0.75}, reliability=curve)
    page = (tmp_path / "report.html").read_text()
    assert "0.750" in page
    assert 'class="figure reliability"' in page


def test_the_report_of_an_earlier_verdict_does_not_stay(tmp_path: Path, make: Make) -> None:
    verdict = make()
    publish(tmp_path, verdict, _source(verdict))
    assert {path.name for path in tmp_path.iterdir()} == {
        "manifest.json",
        "verdict.parquet",
        "summary.json",
        "report.html",
        "report.json",
    }
    publish(tmp_path, verdict, _source(verdict), report=False)
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", "verdict.parquet", "summary.json"}


def test_the_report_is_rendered_again_from_its_data(tmp_path: Path, make: Make) -> None:
    verdict = make()
    publish(tmp_path, verdict, _source(verdict), command="eigenclean detect pets")
    before = (tmp_path / "report.html").read_text()
    assert render(json.loads((tmp_path / "report.json").read_text())) == before
    add_evaluation(tmp_path / "report.html", Verdict.load(tmp_path), quality={"auroc": 0.75})
    assert "0.750" in (tmp_path / "report.html").read_text()
    add_evaluation(tmp_path / "report.html", verdict)  # without figures the page is the first one again
    assert (tmp_path / "report.html").read_text() == before


def test_facts_that_cannot_be_written_leave_nothing_behind(tmp_path: Path, make: Make) -> None:
    verdict = make()
    with pytest.raises(ValueError, match="JSON"), results_folder(tmp_path / "run") as folder:
        publish(folder, verdict, _source(verdict), facts={"rate": float("nan")})
    assert list(tmp_path.iterdir()) == []
