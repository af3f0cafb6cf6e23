"""`eigenclean train` with labels by several annotators: the consensus is learned, decisions of people before it."""

from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest

from eigenclean.cli.app import run as eigenclean
from eigenclean.cli.hints.next_steps import after_patch
from eigenclean.patch import Patch
from eigenclean.sources import open_source
from eigenclean.sources.annotated import annotation_matrix
from eigenclean.train import RobustClassifier
from eigenclean.verdict import Verdict

N = 120
RIGHT = np.array(["ant", "bee"])[np.arange(N) % 2]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """One person who is right, and two who are often wrong, so that the majority is wrong about some rows."""
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(N, 3)) + 5 * (RIGHT == "bee")[:, None]
    raters = {name: RIGHT.copy() for name in ("rater_a", "rater_b", "rater_c")}
    for name in ("rater_b", "rater_c"):
        raters[name] = np.where(rng.random(N) < 0.7, RIGHT, np.where(RIGHT == "ant", "bee", "ant"))
    raters["rater_b"][20:23] = raters["rater_c"][20:23] = RIGHT[20:23]  # about which people decide
    frame = pl.DataFrame(columns, schema=["x", "y", "z"]).with_columns(id=pl.int_range(N), **raters)
    frame.write_csv(tmp_path / "table.csv")
    frame.select("x", "y", "z").write_csv(tmp_path / "new.csv")
    return tmp_path / "table.csv"


def test_the_consensus_and_the_decisions_are_learned(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = open_source(table, id_column="id", annotator_columns=["rater_*"])
    n_wrong = int((source.labels != RIGHT).sum())
    assert n_wrong > 5
    record = {"id": 20, "decision": "relabel", "old": "ant", "new": "bee", "data_hash": source.data_hash()}
    removal = {"id": 22, "decision": "remove", "old": "ant", "data_hash": source.data_hash()}
    patch, model = table.with_name("patch.jsonl"), table.with_name("model")
    Patch.from_records([record, removal]).save(patch)
    columns = ["--id-column", "id", "--annotator-columns", "rater_*"]
    quick = ["--set", "detector=knn", "--set", "heads=linear"]
    command = ["train", str(table), *columns, "--patch", str(patch), *quick, "--out", str(model)]
    assert eigenclean(command) == 0
    said = f"3 annotators: the consensus is learned; it differs from the majority in {n_wrong} rows"
    assert said in capsys.readouterr().err
    learned = Verdict.load(model)
    labels = dict(zip(learned.ids.tolist(), learned.labels.tolist(), strict=True))
    assert labels.pop(20) == "bee" and 22 not in labels
    assert all(label == RIGHT[id] for id, label in labels.items())
    predicted = RobustClassifier.load(model).predict(pl.read_csv(table.with_name("new.csv")))
    assert (predicted == RIGHT).mean() > 0.95


def test_after_the_review_of_annotators_comes_training() -> None:
    source = {"name": "a b.csv", "id_column": "id", "annotator_columns": ["rater_*"], "group_column": "who"}
    follows = after_patch({"source": source}, "patch.jsonl")
    assert follows == [
        *("train", "a b.csv", "--id-column", "id", "--annotator-columns", "rater_*"),
        *("--patch", "patch.jsonl", "--out", "model"),
    ]
    assert after_patch({"source": {"name": "data", "in_memory": True}}, "p.jsonl") == ["patch", "show", "p.jsonl"]


def test_the_index_of_a_frame_is_no_annotator() -> None:
    frame = pd.DataFrame({"anna": [0, 1, 1, 0], "ben": [0, 1, 0, 0]}).iloc[[0, 2, 3]]
    matrix = annotation_matrix(frame)
    assert matrix is not None and matrix.names.tolist() == ["anna", "ben"]
    assert matrix.n_rows == 3 and sorted(matrix.classes.tolist()) == [0, 1]
