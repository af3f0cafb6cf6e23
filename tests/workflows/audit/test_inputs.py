"""`audit` takes what people have: paths, frames, arrays and data sets, and gives one verdict for all of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pytest

from eigenclean import Audit, audit
from eigenclean.arrays import Array
from eigenclean.errors import EigencleanError, InvalidData, InvalidOption

X = np.random.default_rng(0).normal(size=(90, 4)) + 5 * np.eye(3, 4)[np.arange(90) % 3]
Y = np.array(["ant", "bee", "cat"])[np.arange(90) % 3]
Y[:6] = np.roll(Y, 1)[:6]
FRAME = pd.DataFrame(X, columns=[f"f{i}" for i in range(4)]).assign(species=Y)


def flagged(*args: Any, **options: Any) -> list[int]:
    return np.flatnonzero(audit(*args, method="knn", **options).verdict.flagged).tolist()


@pytest.fixture(scope="module")
def expected() -> list[int]:
    rows = flagged((X, Y))
    assert set(rows) >= set(range(6))
    return rows


def torch_items() -> Any:
    torch: Any = pytest.importorskip("torch")
    return torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(np.unique(Y, return_inverse=True)[1]))


def hf_rows() -> Any:
    datasets: Any = pytest.importorskip("datasets")
    return datasets.DatasetDict({"train": datasets.Dataset.from_pandas(FRAME)})


CALLS: dict[str, Any] = {
    "pandas": lambda: flagged(FRAME, label="species"),
    "polars": lambda: flagged(pl.from_pandas(FRAME), label="species"),
    "arrow": lambda: flagged(pa.Table.from_pandas(FRAME), label="species"),
    "columns": lambda: flagged({name: FRAME[name].tolist() for name in FRAME}, label="species"),
    "features of a frame": lambda: flagged(FRAME, label="species", features="f*"),
    "labels beside a frame": lambda: flagged(FRAME.drop(columns="species"), label=Y),
    "features beside a frame": lambda: flagged(FRAME[["species"]], label="species", features=X),
    "array": lambda: flagged(X, label=Y.tolist()),
    "arguments": lambda: flagged(features=X, label=Y),
    "dict of arrays": lambda: flagged({"features": X, "labels": Y}),
    "torch": lambda: flagged(torch_items()),
    "hugging face": lambda: flagged(hf_rows(), label="species"),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_verdict_whatever_the_data_are_in(name: str, expected: list[int]) -> None:
    assert CALLS[name]() == expected


def test_a_path_gives_what_detect_writes(tmp_path: Path, expected: list[int]) -> None:
    from eigenclean.cli.app import run

    FRAME.to_csv(tmp_path / "x.csv", index=False)
    result = audit(tmp_path / "x.csv", label="species", method="knn", out=tmp_path / "a")
    column = ["--label-column", "species", "--method", "knn"]
    assert run(["detect", str(tmp_path / "x.csv"), *column, "--out", str(tmp_path / "b")]) == 0
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "b").iterdir())
    assert (tmp_path / "a" / "verdict.parquet").read_bytes() == (tmp_path / "b" / "verdict.parquet").read_bytes()
    assert np.flatnonzero(result.verdict.flagged).tolist() == expected


def probabilities() -> Array:
    p = np.full((90, 3), 0.05)
    p[np.arange(90), np.arange(90) % 3] = 0.9
    return p


def test_probabilities_alone_and_ids() -> None:
    result = audit(label=Y, pred_probs=probabilities(), ids=[f"r{i}" for i in range(90)])
    assert set(result.suspects(6)["id"]) == {f"r{i}" for i in range(6)}
    assert result.summary["pred_probs"]["name"] == "ndarray"


def test_texts_choose_the_encoder_as_the_command_line_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("wordllama")
    monkeypatch.setenv("EIGENCLEAN_CACHE", str(tmp_path))
    words = {"ant": "small insect", "bee": "honey and wax", "cat": "purring pet"}
    texts = [f"{words[y]} number {i}" for i, y in enumerate(Y.tolist())]
    result = audit(text=texts, label=Y, method="knn")
    assert result.summary["embedding"]["encoder"].startswith("wordllama")
    assert result.notes[0].startswith("encoder wordllama: ")
    assert result.suspects(1)[0]["text"] in texts


def test_a_decision(expected: list[int]) -> None:
    assert len(flagged((X, Y), budget=3)) == 3
    with pytest.raises(InvalidOption, match="exactly one"):
        audit((X, Y), budget=3, threshold=0.5)


MISTAKES: dict[str, tuple[type[EigencleanError], str, Any]] = {
    "no labels": (InvalidData, "no labels", lambda: audit(X)),
    "a column of an array": (InvalidOption, "no table", lambda: audit(X, label="species")),
    "labels twice": (InvalidOption, "give them once", lambda: audit((X, Y), label=Y)),
    "texts of a frame": (InvalidOption, "must name a column", lambda: audit(FRAME, label="species", text=["a"])),
    "unknown column": (InvalidData, "did you mean 'species'", lambda: audit(FRAME, label="specie")),
    "no file": (InvalidData, "there is no file", lambda: audit("no/such.csv", label="y")),
    "unknown split": (InvalidOption, "in one piece", lambda: audit((X, Y), split="test")),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kind, words, call = MISTAKES[name]
    with pytest.raises(kind, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def raters() -> pd.DataFrame:
    """Labels by three annotators, of whom the last is wrong about the first six rows."""
    right = np.array(["ant", "bee", "cat"])[np.arange(90) % 3]
    wrong = np.where(np.arange(90) < 6, np.roll(right, 1), right)
    return FRAME.drop(columns="species").assign(rater_a=right, rater_b=right, rater_c=wrong)


@pytest.mark.parametrize("form", ["pattern", "long", "matrix"])
def test_several_annotators(form: str, tmp_path: Path) -> None:
    frame = raters()
    names = ["rater_a", "rater_b", "rater_c"]
    if form == "matrix":
        result = audit(annotators=frame[names].to_numpy())
    elif form == "long":
        rows = frame[names].assign(id=np.arange(90)).melt("id", var_name="who", value_name="label")
        result = audit(rows, annotators="who")
    else:
        result = audit(frame[names], annotators="rater_*")
    assert result.verdict.labels[:6].tolist() == frame["rater_a"][:6].tolist()
    folder = result.save(tmp_path / "run")
    assert (folder / "annotators.parquet").is_file() and (folder / "annotations.parquet").is_file()
    assert "annotators" in Audit.load(folder).summary
