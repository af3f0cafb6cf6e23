"""`eigenclean train`, called as typer calls it."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from eigenclean.arrays import Array, Ints
from eigenclean.cli.train import train
from eigenclean.errors import InvalidOption, MissingExtra
from eigenclean.train import RobustClassifier
from eigenclean.verdict import Verdict

app = typer.Typer()
app.command()(train)


def run(*arguments: object) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def source(blobs: tuple[Array, Ints], tmp_path: Path) -> Path:
    path = tmp_path / "data.npz"
    np.savez(path, features=blobs[0], labels=blobs[1], ids=np.arange(120) + 500)
    return path


def test_it_writes_a_model_a_verdict_and_the_metrics(source: Path, tmp_path: Path) -> None:
    shown = run(source, "--out", tmp_path / "run", "--epochs", 9, "--device", "cpu")
    assert "fine with mlp: 9 epochs" in shown
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "metrics.jsonl",
        "model.json",
        "model.safetensors",
        "summary.json",
        "verdict.parquet",
    ]
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == list(range(1, 10))
    assert Verdict.load(tmp_path / "run").ids[0] == 500
    assert RobustClassifier.load(tmp_path / "run").history_ == lines
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["recipe"] == "fine"
    assert "quality" not in summary


def test_noise_is_added_before_and_measured_after(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shown = run(source, "--out", out, "--noise", "symmetric:0.3", "--epochs", 9, "--json", "--device", "cpu")
    record = json.loads(shown)
    assert record["noise"] == "symmetric:0.3"
    assert 0.1 < record["quality"]["noise_rate"] < 0.3
    assert record["kept_fraction"] <= 1
    given = np.load(source)["labels"]
    assert 0.1 < np.mean(Verdict.load(out).labels != given) < 0.3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--recipe", "fien"], "did you mean 'fine'"),
        (["--net", "mpl"], "did you mean 'mlp'"),
        (["--noise", "symetric:0.5"], "did you mean 'symmetric'"),
        (["--epochs", "1"], "epochs must be at least 2"),
    ],
)
def test_mistakes_get_a_sentence_and_leave_nothing(
    source: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    with pytest.raises(InvalidOption, match=message):
        run(source, "--out", tmp_path / "run", *arguments)
    assert not (tmp_path / "run").exists()


def test_without_torch_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"eigenclean train needs torch.*pip install 'eigenclean\[train\]'"):
        run("no-such-file.npz", "--out", tmp_path / "run")
