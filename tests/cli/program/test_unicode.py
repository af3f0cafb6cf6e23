"""Halves of surrogate pairs and bytes that are not UTF-8, wherever text may come from: a sentence or an escape."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Cli = Callable[..., Any]
HALF = "x\ud800"
N = 60
Y = np.arange(N) % 2
X = (np.random.default_rng(0).normal(size=(N, 4)) + 4 * Y[:, None]).astype(np.float32)
LABELS = np.array(["cat", "dog"])[Y].astype("U8")
IDS = np.array([f"i{row}" for row in range(N)], dtype="U8")
TEXTS = np.array([f"text {row}" for row in range(N)], dtype="U20")


def _with_half(values: Any) -> Any:
    changed = values.copy()
    changed[3] = HALF
    return changed


@pytest.mark.parametrize("what", ["labels", "ids"])
def test_labels_and_ids_are_refused_and_nothing_is_written(cli: Cli, tmp_path: Path, what: str) -> None:
    arrays = {"features": X, "labels": LABELS, "ids": IDS}
    np.savez(tmp_path / "x.npz", **{**arrays, what: _with_half(arrays[what])})
    ran = cli("detect", tmp_path / "x.npz", "--out", tmp_path / "run")
    assert ran.code == 2 and f"{what} must be valid Unicode text, but row 3" in ran.err
    assert not (tmp_path / "run").exists()


def test_texts_are_shown_and_exported_with_an_escape(cli: Cli, tmp_path: Path) -> None:
    flipped = LABELS.copy()
    flipped[3] = "cat" if LABELS[3] == "dog" else "dog"
    np.savez(tmp_path / "x.npz", features=X, labels=flipped, texts=_with_half(TEXTS))
    assert cli("detect", tmp_path / "x.npz", "--out", tmp_path / "run").code == 0
    assert cli("review", tmp_path / "run", "--export", tmp_path / "page.html").code == 0
    for tool, name in (("csv", "x.csv"), ("label-studio", "x.json"), ("argilla", "y.json")):
        assert cli("export", tmp_path / "run", "--to", tool, "--all", "--out", tmp_path / name).code == 0
        assert r"x\ud800" in (tmp_path / name).read_text(encoding="utf-8")
    assert HALF in [task["data"]["text"] for task in json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))]


@pytest.mark.parametrize("field", ["id", "old", "new", "reason", "reviewer", "decision", "time", "data_hash"])
def test_patches_are_refused_in_one_sentence(cli: Cli, tmp_path: Path, field: str) -> None:
    np.savez(tmp_path / "x.npz", features=X, labels=LABELS)
    record = {"id": 3, "decision": "relabel", "old": "dog", "new": "cat", "data_hash": "0a"}
    (tmp_path / "p.jsonl").write_text(json.dumps({**record, field: HALF}))
    ran = cli("patch", "apply", tmp_path / "x.npz", tmp_path / "p.jsonl", "--out", tmp_path / "fixed.npz")
    assert ran.code == 2 and ran.err.count("\n") == 1
    assert not (tmp_path / "fixed.npz").exists()


@pytest.mark.parametrize("command", ["review", "export", "check"])
def test_a_verdict_with_bytes_that_are_not_text_is_damaged(cli: Cli, tmp_path: Path, command: str) -> None:
    np.savez(tmp_path / "x.npz", features=X, labels=LABELS, ids=IDS)
    assert cli("detect", tmp_path / "x.npz", "--out", tmp_path / "run", "--no-report").code == 0
    (tmp_path / "run" / "manifest.json").unlink()
    table = pq.read_table(tmp_path / "run" / "verdict.parquet")
    bytes_of_ids = [b"\xff" if row == 3 else b"i%d" % row for row in range(N)]
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in bytes_of_ids])]).astype(np.int32)
    ids = pa.StringArray.from_buffers(N, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"".join(bytes_of_ids)))
    pq.write_table(table.set_column(0, "id", ids), tmp_path / "run" / "verdict.parquet")
    options = {
        "review": ["--export", tmp_path / "x.html"],
        "export": ["--to", "csv", "--out", tmp_path / "x.csv"],
        "check": [],
    }
    ran = cli(command, tmp_path / "run", *options[command])
    assert ran.code == 2 and ran.err.count("\n") == 1
    assert not (tmp_path / "x.html").exists() and not (tmp_path / "x.csv").exists()


def test_names_of_files_that_are_not_utf_8_are_one_sentence(cli: Cli, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", features=X, labels=LABELS)
    ran = cli("detect", tmp_path / "x.npz", "--out", f"{tmp_path}/o\udcff")
    assert ran.code == 2 and ran.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]
    (Path(f"{tmp_path}/n\udcff.npz")).write_bytes((tmp_path / "x.npz").read_bytes())
    ran = cli("detect", f"{tmp_path}/n\udcff.npz", "--out", tmp_path / "run")
    assert ran.code in (0, 2) and "unexpected" not in ran.err
