"""Test labels that may be wrong: what `train` and `score` say about the accuracy of a model."""

import json
from pathlib import Path

import numpy as np
import pytest

from eigenclean.cli.app import run

QUICK = ["--selector", "knn", "--set", "heads=linear"]


def write(path: Path, seed: int, wrong: float) -> Path:
    rng = np.random.default_rng(seed)
    codes = np.arange(300) % 3
    X = rng.normal(size=(300, 6)) + 4 * np.eye(6)[codes]
    given = np.where(rng.random(300) < wrong, (codes + 1) % 3, codes)
    np.savez(path, features=X, labels=given)
    return path


def test_a_model_is_not_called_worse_than_its_test_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "train.npz", 0, 0.2)
    test = write(tmp_path / "test.npz", 1, 0.2)
    folder = tmp_path / "run"
    assert run(["train", str(data), "--test", str(test), "--out", str(folder), *QUICK]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "accuracy on 300 test rows: " in said and "as measured; if test labels may be wrong too" in said
    record = json.loads((folder / "summary.json").read_text())["test_accuracy_estimate"]
    assert record["n"] == 300 and 0.72 < record["measured"] < 0.88
    assert record["estimate"] > record["measured"] + 0.05
    low, high = record["interval"]
    assert low <= record["estimate"] <= high
    assert "| True accuracy | accuracy on 300 test rows" in (folder / "model.md").read_text()
    assert run(["score", str(folder), "--test", str(test), "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert scored["measured"] == record["measured"] and scored["interval"] == pytest.approx(record["interval"])
    assert run(["score", str(folder), "--test", str(test)]) == 0
    assert "Next: eigenclean detect" in capsys.readouterr().err


def test_what_cannot_be_judged_or_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write(tmp_path / "train.npz", 0, 0.0)
    np.savez(tmp_path / "one.npz", features=np.zeros((5, 6)), labels=np.zeros(5, dtype=int))
    folder = tmp_path / "run"
    assert run(["train", str(data), "--test", str(tmp_path / "one.npz"), "--out", str(folder), *QUICK]) == 0
    assert json.loads((folder / "summary.json").read_text())["test_accuracy_estimate"] is None
    capsys.readouterr()
    for words, said in (
        ([], "give --truth FILE for a verdict, or --test SOURCE for a model"),
        (["--test", "digits", "--truth", "y.npy"], "give one of them"),
    ):
        assert run(["score", str(folder), *words]) == 2
        assert said in " ".join(capsys.readouterr().err.split())


def test_the_labels_of_the_test_table_are_in_the_column_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    right = np.arange(120) % 2
    sizes, towns = rng.normal(size=120) + 6 * right, np.array(["Rome", "Paris"])[right]
    lines = [f"r{row},{sizes[row]:.3f},{towns[row]},{'yes' if right[row] else 'no'}" for row in range(120)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["id,size,town,churn", *lines]))
    folder = str(tmp_path / "run")
    assert run(["train", str(table), "--label-column", "churn", "--out", folder, *QUICK]) == 0
    capsys.readouterr()
    assert run(["score", folder, "--test", str(table), "--label-column", "churn", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured"] == 1.0
    assert run(["score", folder, "--test", str(table)]) == 2
    assert "choose the labels with --label-column" in " ".join(capsys.readouterr().err.split())
