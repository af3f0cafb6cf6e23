"""`eigenclean detect --pred-probs`: with and without features, by class name and id; bad files are one sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from eigenclean import Verdict, find_label_issues
from eigenclean.arrays import Array, Float64s
from eigenclean.detect.baselines.head import LinearHead
from eigenclean.patch import Patch
from eigenclean.sources import open_source

Cli = Callable[..., Any]
Digits = tuple[Array, Array, Array]


@pytest.fixture(scope="module")
def pred_probs(digits: Digits) -> Float64s:
    return LinearHead.fit(digits[0], digits[1], 10).probabilities(digits[0])


@pytest.fixture
def files(tmp_path: Path, digits: Digits, pred_probs: Float64s) -> Path:
    """Labels, probabilities in several formats, and texts without features."""
    X, labels, _ = digits
    ids = np.array([f"row {i}" for i in range(len(labels))])
    order = np.random.default_rng(0).permutation(len(labels))
    np.save(tmp_path / "labels.npy", labels)
    np.savez(tmp_path / "labels.npz", labels=labels, ids=ids)
    np.savez(tmp_path / "data.npz", features=X, labels=labels, ids=ids)
    pyarrow.csv.write_csv(pa.table({"id": ids, "label": labels}), str(tmp_path / "labels.csv"))
    pyarrow.csv.write_csv(pa.table({"id": ids, "label": labels, "text": ids}), str(tmp_path / "texts.csv"))
    np.save(tmp_path / "p.npy", pred_probs)
    columns = {str(c): pred_probs[order, c] for c in (9, 1, 2, 3, 4, 5, 6, 7, 8, 0)}
    pq.write_table(pa.table({"id": ids[order], **columns}), tmp_path / "p.parquet")
    return tmp_path


@pytest.mark.parametrize("source", ["labels.npy", "labels.npz", "labels.csv", "texts.csv"])
def test_labels_are_enough(cli: Cli, files: Path, digits: Digits, pred_probs: Float64s, source: str) -> None:
    ran = cli("detect", files / source, "--pred-probs", files / "p.npy", "--out", files / "run")
    assert ran.code == 0, ran.err
    verdict = Verdict.load(files / "run")
    np.testing.assert_array_equal(verdict.flagged, find_label_issues(digits[1], pred_probs=pred_probs))
    summary = json.loads((files / "run" / "summary.json").read_text())
    assert summary["views"] == {"probabilities": 1.0}
    assert summary["pred_probs"] == {"name": str(files / "p.npy"), "notices": []}
    assert summary["source"]["need_features"] is False
    assert (files / "run" / "report.html").exists()


def test_features_count_too(cli: Cli, files: Path, digits: Digits, pred_probs: Float64s) -> None:
    command = ["detect", files / "data.npz", "--pred-probs", files / "p.parquet", "--out", files / "run"]
    ran = cli(*command, "--set", "views=linear,probabilities")
    assert ran.code == 0, ran.err
    expected = find_label_issues(digits[1], digits[0], pred_probs, views="linear,probabilities")
    np.testing.assert_array_equal(Verdict.load(files / "run").flagged, expected)
    views = json.loads((files / "run" / "summary.json").read_text())["views"]
    assert list(views) == ["linear", "probabilities"]


def test_rows_by_id_and_columns_by_name(cli: Cli, files: Path) -> None:
    for name in ("p.npy", "p.parquet"):
        folder = files / name.partition(".")[2]
        assert cli("detect", files / "labels.csv", "--pred-probs", files / name, "--out", folder).code == 0
    first, second = Verdict.load(files / "npy"), Verdict.load(files / "parquet")
    np.testing.assert_allclose(first.p_clean, second.p_clean, atol=1e-6)


def test_another_method(cli: Cli, files: Path, digits: Digits, pred_probs: Float64s) -> None:
    command = ["detect", files / "labels.npy", "--pred-probs", files / "p.npy", "--out", files / "run"]
    assert cli(*command, "--method", "small-loss").code == 0
    expected = find_label_issues(digits[1], pred_probs=pred_probs, method="small-loss")
    np.testing.assert_array_equal(Verdict.load(files / "run").flagged, expected)


def test_a_run_of_labels_can_be_reviewed_and_patched(cli: Cli, files: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(files)
    assert cli("detect", "labels.csv", "--pred-probs", "p.npy", "--out", "run").code == 0
    ran = cli("review", "run", "--export", "page.html")
    assert ran.code == 0, ran.err
    assert "labels.csv holds labels, but no features" in ran.err
    verdict = Verdict.load(files / "run")
    row = int(np.flatnonzero(verdict.flagged)[0])
    old, new = int(verdict.labels[row]), int(verdict.suggested[row])
    data_hash = json.loads((files / "run" / "summary.json").read_text())["data_hash"]
    line = {"data_hash": data_hash, "reviewer": "Ada", "time": "2026-01-31T12:00:00Z", "decision": "relabel"}
    Patch.from_records([{**line, "id": f"row {row}", "old": old, "new": new}]).save("patch.jsonl")
    ran = cli("patch", "apply", "labels.csv", "patch.jsonl", "--in-place")
    assert ran.code == 0, ran.err
    assert open_source("labels.csv", need_features=False).labels[row] == new


def test_columns_that_are_left_out_are_named(cli: Cli, files: Path, digits: Digits, pred_probs: Float64s) -> None:
    kept = digits[1] != 3
    np.save(files / "labels.npy", digits[1][kept])
    np.save(files / "p.npy", pred_probs[kept])
    ran = cli("detect", files / "labels.npy", "--pred-probs", files / "p.npy", "--out", files / "run")
    assert ran.code == 0
    sentence = "1 column is left out, as no label has the class: 3"
    assert sentence in ran.err.replace("\n", " ")
    assert sentence in json.loads((files / "run" / "summary.json").read_text())["pred_probs"]["notices"][0]


def test_probabilities_of_a_model_that_has_seen_the_labels(cli: Cli, files: Path, digits: Digits) -> None:
    seen = np.full((len(digits[1]), 10), 0.001)
    seen[np.arange(len(seen)), digits[1]] = 0.991
    np.save(files / "p.npy", seen)
    ran = cli("detect", files / "labels.npy", "--pred-probs", files / "p.npy", "--out", files / "run")
    sentence = "if the model was trained on these labels, its probabilities repeat their errors"
    assert sentence in ran.out.replace("\n", " ")
    assert any(sentence in text for text in json.loads((files / "run" / "summary.json").read_text())["cautions"])
    assert sentence in (files / "run" / "report.html").read_text()


def logits(p: Float64s) -> Any:
    return np.log(p + 1e-9) + 5


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda p: p[:-1], [], "must have one row for each of the 600 labels, got 599"),
        (lambda p: p[:, :9], [], "must have one column for each of the 10 classes"),
        (lambda p: np.where(p == p.max(), np.nan, p), [], "has NaN or infinite values"),
        (lambda p: p - 0.5, [], "has a negative value; if these are logits, apply a softmax"),
        (lambda p: 2 * p, [], "has the sum 2; if these are logits, apply a softmax"),
        (logits, [], "if these are logits, apply a softmax"),
        (lambda p: p, ["--engine", "stream"], "--pred-probs needs all rows in memory: leave out --engine stream"),
        (lambda p: p, ["--self-test"], "has never seen: leave one out"),
        (lambda p: p, ["--method", "auto"], "has never seen: leave one out"),
        (lambda p: p, ["--method", "knn"], "knn needs features, but only probabilities were given"),
        (lambda p: p, ["--set", "views=linear"], "leaves the predicted probabilities out"),
    ],
)
def test_one_sentence_and_exit_code_2(
    cli: Cli, files: Path, pred_probs: Float64s, change: Callable[[Float64s], Any], options: list[str], message: str
) -> None:
    np.save(files / "p.npy", change(pred_probs))
    ran = cli("detect", files / "labels.npy", "--pred-probs", files / "p.npy", "--out", files / "run", *options)
    assert ran.code == 2
    assert message in ran.err.replace("\n", " ")
    assert not (files / "run").exists()
