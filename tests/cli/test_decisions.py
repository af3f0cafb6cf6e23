"""`detect` decides as asked, tests itself when asked, and chooses a method when asked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean import FINE, Verdict
from eigenclean.arrays import Array
from eigenclean.detect.decisions import Decision
from eigenclean.workflows import self_test as testing

Cli = Callable[..., Any]
Digits = tuple[Array, Array, Array]


def detect(cli: Cli, npz: Path, out: Path, *arguments: object) -> dict[str, Any]:
    ran = cli("detect", npz, "--out", out, "--json", "--no-report", "--method", "fine", *arguments)
    assert ran.code == 0, ran.err
    summary: dict[str, Any] = json.loads(ran.out)
    assert summary == json.loads((out / "summary.json").read_text())
    return summary


@pytest.mark.parametrize(
    ("option", "value", "decision"),
    [
        ("--threshold", 0.9, Decision(threshold=0.9)),
        ("--max-false-flags", 0.2, Decision(max_false_flags=0.2)),
        ("--budget", 33, Decision(budget=33)),
    ],
)
def test_the_flags_are_those_of_the_decision(
    cli: Cli, npz: Path, tmp_path: Path, digits: Digits, option: str, value: float, decision: Decision
) -> None:
    summary = detect(cli, npz, tmp_path / "run", option, value)
    expected = FINE().judge(digits[0], digits[1], decision=decision)
    loaded = Verdict.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.flagged, expected.flagged)
    np.testing.assert_array_equal(loaded.suggested, expected.suggested)
    assert summary["n_flagged"] == expected.n_flagged > 0
    assert isinstance(expected.made_by, dict)
    assert summary["decision"] == expected.made_by["decision"]
    assert list(summary)[-1] == "per_class"


def test_the_usual_threshold_is_in_the_summary_too(cli: Cli, npz: Path, tmp_path: Path) -> None:
    decision = detect(cli, npz, tmp_path / "run")["decision"]
    assert decision["rule"] == "threshold" and decision["value"] == 0.5


def test_a_decision_is_said_in_words_and_drawn(cli: Cli, npz: Path, tmp_path: Path) -> None:
    ran = cli("detect", npz, "--out", tmp_path / "run", "--method", "fine", "--budget", 12)
    assert ran.code == 0, ran.err
    assert "12 of 600 labels look wrong" in ran.out
    assert "Decision: the 12 labels most worth a look" in ran.out
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["--threshold", "0.5", "--budget", "3"], ["exclude each other", "got --threshold and --budget"]),
        (["--max-false-flags", ".1", "--budget", "3"], ["got --max-false-flags and --budget"]),
        (["--max-false-flags", "1.5"], ["max_false_flags must be between 0 and 1, got 1.5"]),
        (["--budget", "0"], ["budget must be a whole number from 1, got 0"]),
        (["--budget", "many"], ["--budget", "valid int"]),
        (["--self-test", "--planted", "0.9"], ["planted share", "0.5", "0.9"]),
        (["--method", "auto", "--set", "preset=paper"], ["--set", "name the method"]),
    ],
)
def test_one_sentence_exit_code_2_nothing_written(
    cli: Cli, npz: Path, tmp_path: Path, arguments: list[str], fragments: list[str]
) -> None:
    ran = cli("detect", npz, "--out", tmp_path / "deep" / "run", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("eigenclean: ") and ran.err.count("\n") == 1
    for fragment in fragments:
        assert fragment in ran.err
    assert not (tmp_path / "deep").exists()


def test_the_self_test_is_printed_and_saved(cli: Cli, npz: Path, tmp_path: Path, digits: Digits) -> None:
    ran = cli("detect", npz, "--out", tmp_path / "run", "--method", "fine", "--no-report", "--self-test",
              "--planted", "0.1", "--threshold", "0.6")  # fmt: skip
    assert ran.code == 0, ran.err
    saved = json.loads((tmp_path / "run" / "summary.json").read_text())["self_test"]
    judge = FINE(threshold=0.6, random_state=0)
    assert saved == testing.self_test(judge, digits[0], digits[1], share=0.1).as_dict()
    assert saved["n_planted"] == 60
    assert "Self-test: 60 labels (10.0 %) made wrong in a copy" in ran.out
    assert f"{100 * saved['recall']:.1f} %" in ran.out
    assert "precision is therefore a range" in ran.out
    assert "self_test" not in detect(cli, npz, tmp_path / "other")


def test_auto_says_which_and_why(
    cli: Cli, npz: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digits: Digits
) -> None:
    monkeypatch.setattr(testing, "CANDIDATES", ("fine", "knn", "no such detector"))
    names = testing.candidate_names()
    ran = cli("detect", npz, "--out", tmp_path / "run", "--no-report", "--method", "auto", "--self-test",
              "--budget", 40)  # fmt: skip
    assert ran.code == 0, ran.err
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    scores = summary["auto"]["average_precision"]
    assert list(scores) == names
    assert summary["method"] == summary["auto"]["chosen"] == Verdict.load(tmp_path / "run").method
    assert scores[summary["method"]] >= max(scores.values()) - 0.005
    assert summary["self_test"]["average_precision"] == scores[summary["method"]]
    assert summary["n_flagged"] == 40
    assert f"Method auto: {summary['auto']['reason']}." in ran.out
