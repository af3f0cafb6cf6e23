"""`eigenclean detect` with several annotators: wide and long tables, their files, and bad input in one sentence."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from eigenclean import Verdict, audit, open_source
from eigenclean.errors import InvalidOption
from eigenclean.review import Review

Cli = Callable[..., Any]


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """The labels of three annotators, of whom the last guesses, as a wide and a long table and a matrix."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 150)
    names = np.array(["cat", "dog", "eel"])
    table = np.stack([np.where(rng.random(150) < p, truth, rng.integers(0, 3, 150)) for p in (0.95, 0.9, 0.0)], 1)
    table[rng.random(table.shape) < 0.15] = -1
    table[0] = -1
    np.save(tmp_path / "matrix.npy", table[1:][(table[1:] >= 0).any(axis=1)])
    wide, long = tmp_path / "wide.csv", tmp_path / "long.csv"
    with open(wide, "w", newline="") as wide_file, open(long, "w", newline="") as long_file:
        rows, labels = csv.writer(wide_file), csv.writer(long_file)
        rows.writerow(["id", "rater_a", "rater_b", "rater_c"])
        labels.writerow(["item", "who", "label"])
        for i, row in enumerate(table):
            rows.writerow([f"s{i}", *("" if code < 0 else names[code] for code in row)])
            labels.writerows([f"s{i}", "abc"[a], names[code]] for a, code in enumerate(row) if code >= 0)
    return tmp_path


def test_wide_and_long_tables_say_the_same(cli: Cli, tables: Path) -> None:
    wide = cli("detect", tables / "wide.csv", "--annotator-columns", "rater_*", "--out", tables / "w", "--ask", "7")
    long = ("--annotator-column", "who", "--id-column", "item", "--out", tables / "l")
    assert cli("detect", tables / "long.csv", *long).code == 0
    assert wide.code == 0, wide.err
    assert "no label by any annotator and" in wide.err
    assert "3 annotators gave" in wide.out and "Krippendorff's alpha" in wide.out and "Ask next, 7 rows" in wide.out
    first, second = Verdict.load(tables / "w"), Verdict.load(tables / "l")
    np.testing.assert_array_equal(first.ids, second.ids)
    np.testing.assert_allclose(first.p_clean, second.p_clean)
    np.testing.assert_array_equal(first.consensus_label, second.consensus_label)
    columns = pq.read_schema(tables / "w" / "verdict.parquet").names
    assert {"consensus_label", "consensus_confidence", "given_label", "rank"} <= set(columns)
    annotators = pq.read_table(tables / "w" / "annotators.parquet")
    assert annotators.column_names[:5] == ["annotator", "n_labels", "quality", "quality_low", "quality_high"]
    quality = dict(zip(*(annotators.column(name).to_pylist() for name in ("annotator", "quality")), strict=True))
    assert min(quality, key=lambda name: quality[name]) == "rater_c"
    labels = pq.read_table(tables / "w" / "annotations.parquet")
    assert labels.num_rows == np.sum(annotators.column("n_labels").to_numpy())
    summary = json.loads((tables / "w" / "summary.json").read_text())
    assert (
        summary["annotators"]["ask"]["n"] == 7 and summary["annotators"]["annotators"][0]["annotator"] == "rater_c"
    )
    assert len((tables / "w" / "ask.csv").read_text(encoding="utf-8-sig").splitlines()) == 8
    page = (tables / "w" / "report.html").read_text(encoding="utf-8")
    assert 'id="annotators"' in page and "rater_c" in page


def test_review_opens_the_rows_again(cli: Cli, tables: Path) -> None:
    assert cli("detect", tables / "wide.csv", "--annotator-columns", "rater_?", "--out", tables / "run").code == 0
    review = Review.open(tables / "run")
    assert len(review.suspects) == Verdict.load(tables / "run").n_flagged


def test_a_later_run_without_annotators_removes_their_files(cli: Cli, tables: Path, npz: Path) -> None:
    run = tables / "run"
    command = ("detect", tables / "wide.csv", "--annotator-columns", "rater_*", "--out", run, "--ask", "2")
    assert cli(*command).code == 0
    assert cli("detect", npz, "--method", "fine", "--out", run, "--no-report").code == 0
    assert sorted(path.name for path in run.iterdir()) == ["manifest.json", "summary.json", "verdict.parquet"]


def test_a_matrix_is_several_annotators(cli: Cli, tables: Path) -> None:
    labels = np.load(tables / "matrix.npy")
    features = np.random.default_rng(0).normal(size=(len(labels), 2))
    source = open_source((features, labels))
    assert source.annotations is not None
    np.testing.assert_array_equal(source.labels, source.annotations.majority)
    assert source.evidence().annotations is source.annotations
    np.save(tables / "x.npy", features)
    from_file = open_source(tables / "x.npy", labels=tables / "matrix.npy")
    np.testing.assert_array_equal(from_file.labels, source.labels)
    assert from_file.annotations is not None


def test_audit_takes_columns_and_matrices(tables: Path) -> None:
    by_column = audit(tables / "wide.csv", annotators="rater_*")
    np.testing.assert_array_equal(
        by_column.verdict.consensus_label,
        audit(tables / "wide.csv", annotators=["rater_?"]).verdict.consensus_label,
    )
    assert by_column.summary["annotators"]["n_annotators"] == 3
    labels = np.load(tables / "matrix.npy")
    result = audit(annotators=labels)
    assert result.verdict.consensus_label is not None
    with pytest.raises(InvalidOption, match="annotators are the labels"):
        audit(annotators=labels, label=labels[:, 0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--annotator-columns", "judge_*"), "has no column 'judge_*'; its columns are 'id', 'rater_a'"),
        (("--annotator-columns", "rater_a"), "must name two columns at least, got 'rater_a'"),
        (("--annotator-columns", "rater_*", "--label-column", "id"), "leave out --label-column"),
        (("--annotator-columns", "rater_*", "--id-column", "rater_a"), "cannot be an annotator and --id-column"),
        (("--annotator-columns", "rater_*", "--annotator-column", "id"), "not both"),
        (("--annotator-columns", "rater_*", "--labels", "matrix.npy"), "leave out --labels"),
        (("--annotator-columns", "rater_*", "--engine", "stream"), "need all rows in memory"),
        (("--annotator-columns", "rater_*", "--self-test"), "leave one out"),
        (("--annotator-columns", "rater_*", "--ask", "0"), "--ask must be a whole number from 1, got 0"),
        (("--annotator-columns", "*"), "uses labels that no other annotator uses"),
        (("--annotator-column", "whom"), "has no column 'whom'"),
        (("--annotator-column", "rater_a"), "choose the labels with --label-column"),
    ],
)
def test_bad_input_gets_one_sentence(cli: Cli, tables: Path, options: tuple[str, ...], sentence: str) -> None:
    ran = cli("detect", tables / "wide.csv", *options, "--out", tables / "run")
    assert ran.code == 2 and sentence in ran.err, ran.err
    assert "Traceback" not in ran.err and not (tables / "run").exists()


def test_questions_are_for_annotators(cli: Cli, tmp_path: Path, npz: Path) -> None:
    ran = cli("detect", npz, "--method", "fine", "--ask", "5", "--out", tmp_path / "run")
    assert ran.code == 2 and "--ask is for labels by several annotators" in ran.err


def test_long_tables_need_ids_and_names(cli: Cli, tables: Path) -> None:
    ran = cli("detect", tables / "long.csv", "--annotator-column", "who", "--out", tables / "run")
    assert ran.code == 2 and "each label has a row of its own with --id-column" in ran.err
    text = (tables / "long.csv").read_text().replace("s1,a,", "s1,,")
    (tables / "gaps.csv").write_text(text)
    options = ("--annotator-column", "who", "--id-column", "item", "--out", tables / "run")
    assert "'who' must be complete" in cli("detect", tables / "gaps.csv", *options).err
