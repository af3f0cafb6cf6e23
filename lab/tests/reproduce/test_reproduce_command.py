"""The command `eigenclean reproduce`: names, mistakes, and runs that cost seconds."""

import json
from pathlib import Path

import pytest

from eigenclean.cli.app import run
from eigenclean_lab.reproduce.catalogue import EXPERIMENTS
from eigenclean_lab.reproduce.profiles import SMOKE
from eigenclean_lab.reproduce.suite import paper_store


def test_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == list(EXPERIMENTS)
    assert run(["reproduce", "list"]) == 0
    assert "Sample selection" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tabel1"], "did you mean 'table1'"),
        (["table1", "--profile", "large"], "profile must be one of"),
        (["table1", "--rows", "nobody"], "row must be one of"),
        (["table1", "--columns", "C10"], "column must be one of"),
        (["table1", "--seeds", "0"], "seeds must be 1 or more"),
        (["table1", "--processes", "0"], "processes must be 1 or more"),
        (["table1", "--data", "nowhere"], "no folder nowhere"),
        (["theorem1", "--profile", "medium"], "the profile medium has no data for theorem1; take small or paper"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", *arguments, "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err.strip()
    assert words in said and "\n" not in said
    assert not list(tmp_path.glob("*.jsonl"))


def test_a_theorem_runs_saves_shows_and_is_not_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["reproduce", "theorem2", "--profile", "smoke", "--out", str(tmp_path)]
    assert run(arguments) == 0
    shown = capsys.readouterr().out
    assert "as corrected here, is never broken" in shown and "does not hold" not in shown
    assert (tmp_path / "pages" / "theorem2_smoke.html").exists() and (
        tmp_path / "pages" / "theorem2_smoke.svg"
    ).exists()
    before = (tmp_path / "reproduce_smoke.jsonl").read_text(encoding="utf-8")
    assert run([*arguments, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["name"] == "theorem2" and record["claims"][0]["passed"] is True
    assert (tmp_path / "reproduce_smoke.jsonl").read_text(encoding="utf-8") == before


def test_what_cannot_run_is_marked_and_does_not_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    arguments = ["reproduce", "table3", "--profile", "paper", "--device", "cpu", "--seeds", "1", "--rows", "fine"]
    assert run([*arguments, "--out", str(tmp_path), "--data", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "fine *" in shown and "needs Clothing1M" in shown


@pytest.mark.slow
def test_cells_of_the_smoke_profile_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    arguments = [
        "reproduce",
        "table5",
        "--profile",
        "smoke",
        "--columns",
        "C10 S50",
        "--cache",
        str(tmp_path / "c"),
    ]
    assert run([*arguments, "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "86.0" in shown and "0.488" in shown and "F of the kept" in shown
    cells = paper_store(tmp_path, SMOKE).read()
    assert sorted(cell.task["kind"] for cell in cells) == ["judge", "judge", "train", "train"]
    assert run([*arguments, "--out", str(tmp_path), "--show", "--as-released"]) == 0
    assert "–" in capsys.readouterr().out  # nothing was measured so
