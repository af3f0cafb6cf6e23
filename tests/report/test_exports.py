"""What other tools are given."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image
from sklearn.linear_model import LogisticRegression

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.report.exports import EXPORTS, Rows
from eigenclean.sources import Source, open_source
from eigenclean.verdict import Verdict

TEXTS = ["=HYPERLINK(1)", 'a "quote", and\na line', "+1", "plain", "é"]


def rows(source: Source | None = None, labels: Any = None, ids: Any = None, **options: Any) -> Rows:
    given = np.array(["a", "b", "a", "b", "a"]) if labels is None else labels
    flagged = np.array([False, True, False, True, False])
    verdict = Verdict(
        ids=np.arange(5) + 10 if ids is None else ids, labels=given, score=np.arange(5.0), flagged=flagged,
        p_clean=np.array([0.9, 0.2, 0.8, 0.1, 0.99]), suggested=np.where(flagged, given[::-1][0], given),
        suggested_confidence=np.linspace(0.5, 0.9, 5),
    )  # fmt: skip
    return Rows(verdict, options.pop("rows", np.arange(5)), source, **options)


def texts() -> Source:
    return open_source({"features": np.eye(5), "labels": ["a", "b", "a", "b", "a"], "texts": TEXTS})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/1.png", "a/2 ü.png", "b/1.png", "b/2.png", "b/3.png"):
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.zeros((4, 4), dtype=np.uint8)).save(tmp_path / "images" / name)
    return tmp_path / "images"


def write(name: str, exported: Rows, path: Path) -> Path:
    EXPORTS[name].write(exported, path)
    return path


def test_spreadsheets(tmp_path: Path) -> None:
    path = write("csv", rows(texts(), ids=np.array(["=1", "-2", "@x", "\tq", "ok"])), tmp_path / "x.csv")
    assert path.read_bytes().startswith(b'\xef\xbb\xbf"id","given_label","is_label_issue","label_score",')
    with open(path, encoding="utf-8-sig", newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["id"] for row in read] == ["'=1", "'-2", "'@x", "'\tq", "ok"]
    assert [row["text"] for row in read] == ["'=HYPERLINK(1)", TEXTS[1], "'+1", "plain", "é"]
    assert [float(row["label_score"]) for row in read] == [0.9, 0.2, 0.8, 0.1, 0.99]


STARTS = [
    "=",
    "+",
    "-",
    "@",
    "\t=",
    " =",
    "\r=",
    "\n+",
    "＝",
    "\u00a0=",
    "\ufeff=",
    "\u2028@",
    "\x0b=",
    "\t",
    "\r",
    "\n",
]


@pytest.mark.parametrize("tool", ["csv", "cleanlab", "verdict.csv"])
def test_no_cell_of_any_csv_is_a_formula(tool: str, tmp_path: Path) -> None:
    cells = np.array([f"{start}cmd|' /C calc'!A0" for start in STARTS] + ["a=b", "cat", "1-2", ""])
    n = len(cells)
    verdict = Verdict(
        ids=cells, labels=cells, score=np.full(n, -1.5), p_clean=np.full(n, 0.5), flagged=np.zeros(n, dtype=bool),
        suggested=cells, suggested_confidence=np.full(n, 0.5),
    )  # fmt: skip
    path = tmp_path / "verdict.csv"
    if tool == "verdict.csv":
        verdict.save(tmp_path, csv=True)
    else:
        write(tool, Rows(verdict, np.arange(n)), path)
    with open(path, encoding="utf-8-sig", newline="") as file:
        read = list(csv.DictReader(file))
    expected = [f"'{cell}" for cell in cells[: len(STARTS)]] + cells[len(STARTS) :].tolist()
    texts = {"id", "given_label", "suggested_label", "predicted_label"} & set(read[0])
    assert len(texts) >= 2
    for column in texts:
        assert [row[column] for row in read] == expected
    if "score" in read[0]:
        assert {row["score"] for row in read} == {"-1.5"}  # a number is no formula


def test_cleanlab_takes_its_frame(tmp_path: Path) -> None:
    CleanLearning = pytest.importorskip("cleanlab.classification", reason="cleanlab is not installed").CleanLearning
    pd: Any = pytest.importorskip("pandas", reason="pandas is not installed")
    labels = np.array([0, 1, 0, 0, 1])
    for name in ("x.csv", "x.parquet"):
        path = write("cleanlab", rows(labels=labels), tmp_path / name)
        frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
        assert frame.columns.tolist() == ["is_label_issue", "label_score", "given_label", "predicted_label"]
        assert frame.dtypes.astype(str).tolist() == ["bool", "float64", "int64", "int64"]
        assert frame.predicted_label.tolist() == [0, 1, 0, 1, 1]
        model = CleanLearning(LogisticRegression()).fit(np.eye(5) + labels[:, None], labels, label_issues=frame)
        assert model.get_label_issues().is_label_issue.tolist() == frame.is_label_issue.tolist()
        with pytest.raises(ValueError, match="given_label"):
            CleanLearning(LogisticRegression()).fit(np.eye(5), 1 - labels, label_issues=frame)


def test_label_studio(tmp_path: Path, folder: Path) -> None:
    tasks = json.loads(write("label-studio", rows(texts(), rows=np.array([3, 1])), tmp_path / "x.json").read_text())
    assert [task["data"]["text"] for task in tasks] == ["plain", TEXTS[1]]
    assert tasks[0] == {
        "data": {"text": "plain", "id": "13", "given_label": "b", "label_score": 0.1},
        "predictions": [
            {
                "model_version": "eigenclean",
                "score": 0.8,
                "result": [
                    {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": ["a"]}}
                ],
            }
        ],
    }
    tasks = json.loads(write("label-studio", rows(open_source(folder)), tmp_path / "y.json").read_text())
    where = folder.resolve().as_posix().lstrip("/")
    assert tasks[1]["data"]["image"] == f"/data/local-files/?d={where}/a/2%20%C3%BC.png"
    assert tasks[1]["predictions"][0]["result"][0]["to_name"] == "image"


def test_argilla(tmp_path: Path, folder: Path) -> None:
    records = json.loads(write("argilla", rows(texts(), rows=np.array([1])), tmp_path / "x.json").read_text())
    assert records == [
        {
            "id": "11",
            "fields": {"text": TEXTS[1]},
            "metadata": {"given_label": "b", "label_score": 0.2, "is_label_issue": "true"},
            "suggestions": {"label": {"value": "a", "score": 0.6, "agent": "eigenclean"}},
            "responses": {},
            "vectors": {},
        }
    ]
    records = json.loads(write("argilla", rows(open_source(folder)), tmp_path / "y.json").read_text())
    assert records[0]["fields"] == {"image": str(folder / "a/1.png")}


def test_fiftyone(tmp_path: Path, folder: Path) -> None:
    exported = json.loads(write("fiftyone", rows(open_source(folder)), tmp_path / "x.json").read_text())
    assert exported["classes"] == ["a", "b"] and len(exported["labels"]) == 5
    assert all(Path(file).is_file() and Path(file).is_absolute() for file in exported["labels"])
    label = exported["labels"][(folder / "a/2 ü.png").resolve().as_posix()]
    assert label["label"] == "b" and label["attributes"]["suggested_label"] == "a"
    assert label["attributes"]["mistakenness"] == pytest.approx(0.8)
    named = rows(ids=np.array(["a/1.png", "a/2.png", "b/1.png", "b/2.png", "b/3.png"]), images=folder)
    exported = json.loads(write("fiftyone", named, tmp_path / "y.json").read_text())
    assert (folder / "b/3.png").resolve().as_posix() in exported["labels"]


@pytest.mark.parametrize("name", ["label-studio", "argilla", "fiftyone"])
def test_nothing_to_show(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="--images"):
        write(name, rows(), tmp_path / "x.json")
    assert not (tmp_path / "x.json").exists()


def test_names_of_files(tmp_path: Path) -> None:
    for name, export in EXPORTS.items():
        with pytest.raises(InvalidOption, match=f"--to {name} writes a "):
            export.check_path(tmp_path / "x.xlsx", name)
        export.check_path(tmp_path / f"x{export.suffixes[0]}", name)


def test_many_rows(tmp_path: Path) -> None:
    n = 40_000
    verdict = Verdict(
        ids=np.arange(n), labels=np.zeros(n, dtype=int), score=np.zeros(n), p_clean=np.ones(n),
        flagged=np.zeros(n, dtype=bool), suggested=np.zeros(n, dtype=int), suggested_confidence=np.ones(n),
    )  # fmt: skip
    reversed_rows = Rows(verdict, np.arange(n)[::-1])
    assert [row["id"] for row in reversed_rows] == list(range(n))[::-1]
    assert pq.read_table(write("cleanlab", reversed_rows, tmp_path / "x.parquet")).num_rows == n
