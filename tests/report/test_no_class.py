"""Samples that belong to none of the classes, in the report, the console and the files of a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from eigenclean.cli.detect import print_summary
from eigenclean.report.html import render
from eigenclean.report.summary import summarize
from eigenclean.verdict import Verdict
from eigenclean.workflows.audit.suspect_table import suspect_table


@pytest.fixture
def verdict(make: Callable[..., Verdict]) -> Verdict:
    """A verdict whose three worst suspects belong to no class."""
    usual = make(60, 5)
    rows = usual.suspects()[:3]
    p_none, suggested = np.zeros(60), usual.suggested.copy()
    p_none[rows], suggested[rows] = 0.9, usual.labels[rows]
    return make(60, 5, none_probability=p_none, suggested=suggested)


def test_the_report_counts_them_and_suggests_to_remove_them(verdict: Verdict) -> None:
    summary = summarize(verdict)
    assert summary["headline"]["n_none"] == 3
    assert [card["is_none"] for card in summary["suspects"]["cards"]][:4] == [True, True, True, False]
    assert summary["confusion"]["n_without"] == 3
    page = render(summary)
    assert "3 samples probably belong to none of the classes" in page
    assert page.count("remove: none of the classes") == 3


def test_a_report_of_an_earlier_version_is_rendered(verdict: Verdict) -> None:
    summary = summarize(verdict)
    del summary["headline"]["n_none"], summary["headline"]["none_sentence"]
    for card in summary["suspects"]["cards"]:
        del card["is_none"]
    assert "none of the classes" not in render(summary)


def test_the_console_counts_them(verdict: Verdict, capfd: pytest.CaptureFixture[str]) -> None:
    run: dict[str, Any] = {"estimated_noise_rate_interval": (0.1, 0.2), "seconds": 1.0}
    print_summary(verdict.summary(**run))
    assert "3 samples probably belong to none of the classes" in " ".join(capfd.readouterr().out.split())


def test_the_files_say_so(verdict: Verdict, tmp_path: Path) -> None:
    verdict.save(tmp_path / "run")
    table = pq.read_table(tmp_path / "run" / "verdict.parquet")
    assert table.column_names[-2:] == ["none_probability", "suggested_action"]
    assert table.column("suggested_action").to_pylist().count("remove") == 3
    loaded = Verdict.load(tmp_path / "run")
    assert loaded.n_none == 3 and (loaded.suggested_action == verdict.suggested_action).all()


def test_the_table_of_suspects_suggests_no_label_for_them(verdict: Verdict) -> None:
    records = list(suspect_table(verdict, None, None))
    assert [record["suggested_label"] for record in records[:3]] == [None] * 3
    assert [record["suggested_action"] for record in records[2:4]] == ["remove", "relabel"]
