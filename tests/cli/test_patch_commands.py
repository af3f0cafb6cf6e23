"""`eigenclean patch`, `check` and `export` as commands."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.patch import Patch
from eigenclean.sources import open_source

Cli = Callable[..., Any]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text("id,label,f\n" + "".join(f"s{row},{'ab'[row % 2]},{row}.5\n" for row in range(8)))
    return path


@pytest.fixture
def patch(data: Path) -> Path:
    line = {"data_hash": open_source(data).data_hash(), "reviewer": "Ada", "time": "2026-01-31T12:00:00Z"}
    records: list[dict[str, Any]] = [
        {**line, "id": "s0", "decision": "relabel", "old": "a", "new": "b", "score": 0.1},
        {**line, "id": "s2", "decision": "relabel", "old": "a", "new": "c"},
        {**line, "id": "s3", "decision": "keep", "old": "b"},
        {**line, "id": "s4", "decision": "remove", "old": "a"},
    ]
    return Patch.from_records(records).save(data.with_name("patch.jsonl"))


def test_show(cli: Cli, patch: Path) -> None:
    ran = cli("patch", "show", patch)
    assert ran.code == 0 and "4 decisions: 2 relabel, 1 keep, 1 remove" in ran.out
    assert "by Ada (4), from 2026-01-31T12:00:00Z" in ran.out
    record = json.loads(cli("patch", "show", patch, "--json").out)
    assert record["pairs"] == [{"old": "a", "new": "b", "n": 1}, {"old": "a", "new": "c", "n": 1}]
    assert record["reviewers"] == {"Ada": 4}


def test_diff_apply_revert(cli: Cli, data: Path, patch: Path) -> None:
    before = data.read_bytes()
    ran = cli("patch", "diff", data, patch)
    assert ran.code == 0 and "2 labels of" in ran.out and "0 have been changed already" in ran.out
    assert "1 sample would be taken out with `patch apply --drop-removed`" in ran.out
    assert data.read_bytes() == before
    ran = cli("patch", "apply", data, patch, "--in-place")
    assert ran.code == 0 and "2 labels corrected in" in ran.out and "1 sample to remove is still there" in ran.out
    assert data.read_bytes() == before.replace(b"s0,a", b"s0,b").replace(b"s2,a", b"s2,c")
    changes = json.loads(cli("patch", "diff", patch, data, "--json").out)  # in the other order
    assert changes[0] == {"id": "s0", "row": 0, "old": "a", "new": "b", "applied": True}
    assert json.loads(cli("patch", "apply", patch, data, "--in-place", "--json").out)["already"] == 2
    ran = cli("patch", "revert", data, patch, "--out", data.with_name("old.csv"))
    assert "2 old labels put back in" in ran.out
    assert data.with_name("old.csv").read_bytes() == before
    assert cli("patch", "revert", data, patch, "--in-place").code == 0
    assert data.read_bytes() == before


def test_a_parquet_patch_of_parquet_data(cli: Cli, patch: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    Patch.load(patch).save(tmp_path / "patch.parquet")
    labels = pa.array([f"{'ab'[row % 2]}" for row in range(8)])
    ids, features = pa.array([f"s{row}" for row in range(8)]), pa.array([row + 0.5 for row in range(8)])
    pq.write_table(pa.table({"id": ids, "label": labels, "f": features}), tmp_path / "x.parquet")
    for order in (("x.parquet", "patch.parquet"), ("patch.parquet", "x.parquet")):
        ran = cli("patch", "apply", *(tmp_path / name for name in order), "--out", tmp_path / "y.parquet")
        assert ran.code == 0, ran.err
    assert pq.read_table(tmp_path / "y.parquet").column("label").to_pylist()[:4] == ["b", "b", "c", "b"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["apply", "data.csv", "patch.jsonl"], "say where to: --out for a corrected copy, or --in-place"),
        (["apply", "data.csv", "patch.jsonl", "--in-place", "--out", "x.csv"], "say where to"),
        (["apply", "other.csv", "patch.jsonl", "--in-place"], "is not what .*: ids that are not there: 3 of 4"),
        (["apply", "data.csv", "nope.jsonl", "--in-place"], "there is no patch"),
        (["apply", "nope.csv", "patch.jsonl", "--in-place"], "there is no file or folder"),
        (["apply", "data.csv", "patch.jsonl", "--out", "x.npz"], r"can be written as \.csv or \.npy"),
        (["show", "data.csv"], r"a patch is a \.jsonl or \.parquet file"),
    ],
)
def test_mistakes(
    cli: Cli, data: Path, patch: Path, arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data.parent)
    data.with_name("other.csv").write_text("id,label,f\ns0,a,0\nq,b,1\n")
    before = sorted(os.listdir(data.parent))
    ran = cli("patch", *arguments)
    assert ran.code == 2 and ran.err.count("\n") == 1
    assert re.search(sentence, ran.err), ran.err
    assert sorted(os.listdir(data.parent)) == before


def test_killed_while_it_writes(data: Path, patch: Path, tmp_path: Path) -> None:
    before = data.read_bytes()
    script = (
        "import os, signal, eigenclean.files as files\n"
        "import eigenclean.sources.relabel.delimited as d\n"
        "real = d.shutil.copyfileobj\n"
        "d.shutil.copyfileobj = lambda *a: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"from eigenclean.cli.app import run; run(['patch', 'apply', {str(data)!r}, {str(patch)!r}, '--in-place'])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert data.read_bytes() == before
    again = subprocess.run(
        [sys.executable, "-m", "eigenclean", "patch", "apply", str(data), str(patch), "--in-place"],
        check=False,
        capture_output=True,
    )
    assert again.returncode == 0 and b"s0,b" in data.read_bytes()


# The gate.


def test_the_gate(cli: Cli, npz: Path, digits: tuple[Array, Array, Array], tmp_path: Path) -> None:
    ran = cli("check", npz, "--junit", tmp_path / "j.xml", "--markdown", tmp_path / "m.md")
    assert ran.code == 1 and "failed: estimated noise" in ran.out and "limit 2.0 %" in ran.out
    assert ET.parse(tmp_path / "j.xml").getroot().get("failures") == "1"
    assert "**failed**" in (tmp_path / "m.md").read_text()
    np.savez(tmp_path / "clean.npz", features=digits[0], labels=digits[2])
    ran = cli("check", tmp_path / "clean.npz")
    assert ran.code == 0 and "passed: estimated noise" in ran.out
    assert cli("detect", npz, "--out", tmp_path / "run").code == 0
    assert cli("check", tmp_path / "run").code == 1
    ran = cli("check", tmp_path / "run", "--method", "fine")
    assert ran.code == 2 and "has been judged already" in ran.err
    record = json.loads(
        cli("check", tmp_path / "run", "--max-noise", 0.5, "--max-false-flags", 0.001, "--json").out
    )
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert record["passed"] and record["n_flagged"] < summary["n_flagged"]
    assert [record["low"], record["high"]] == summary["estimated_noise_rate_interval"]
    both = json.loads(cli("check", tmp_path / "run", tmp_path / "clean.npz", "--json").out)
    assert [each["passed"] for each in both] == [False, True]


def test_the_gate_listens_to_people(
    cli: Cli, npz: Path, digits: tuple[Array, Array, Array], tmp_path: Path
) -> None:
    _, given, truth = digits
    line = {"data_hash": open_source(npz).data_hash()}
    records: list[dict[str, Any]] = []
    for row in np.flatnonzero(given != truth).tolist():
        old, new = int(given[row]), int(truth[row])
        done: dict[str, Any] = {"decision": "relabel", "new": new} if row % 3 else {"decision": "remove"}
        records.append({**line, "id": row, "old": old, **done})
    path = Patch.from_records(records).save(tmp_path / "patch.jsonl")
    assert cli("check", npz).code == 1
    ran = cli("check", npz, "--patch", path)
    assert ran.code == 0, ran.out
    assert cli("detect", npz, "--out", tmp_path / "run").code == 0
    ran = cli("check", tmp_path / "run", "--patch", path)
    assert ran.code == 0, ran.out
    other = Patch.from_records([{**records[0], "data_hash": "ab"}]).save(tmp_path / "other.jsonl")
    for target in (npz, tmp_path / "run"):
        ran = cli("check", target, "--patch", other)
        assert ran.code == 2 and "add --by-id" in ran.err
        assert cli("check", target, "--patch", other, "--by-id").code == 1
    ran = cli("check", npz, npz, "--patch", path)
    assert ran.code == 2 and "check one at a time" in ran.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nope.npz"], "there is no file or folder nope.npz"),
        (["digits", "--max-noise", "2"], "--max-noise must be a share from 0 to 1"),
        (["digits", "--max-false-flags", "7"], "max_false_flags must be between 0 and 1"),
        (["digits", "--method", "nope"], "must be one of"),
        ([], "Missing argument"),
    ],
)
def test_the_gate_cannot_tell(cli: Cli, arguments: list[str], sentence: str) -> None:
    ran = cli("check", *arguments)
    assert ran.code == 2 and sentence in ran.err


# Exports.


def test_exports(cli: Cli, tmp_path: Path, digits: tuple[Array, Array, Array]) -> None:
    features, labels = digits[0], digits[1]
    texts = np.array([f"text {row}" for row in range(len(labels))])
    np.savez(tmp_path / "x.npz", features=features, labels=labels, texts=texts)
    run = tmp_path / "run"
    flagged = json.loads(cli("detect", tmp_path / "x.npz", "--out", run, "--json").out)["n_flagged"]
    for name, file, expected in (
        ("csv", "x.csv", 600), ("cleanlab", "y.csv", 600), ("label-studio", "ls.json", flagged),
        ("argilla", "ar.json", flagged),
    ):  # fmt: skip
        exported = json.loads(cli("export", run, "--to", name, "--out", tmp_path / file, "--json").out)
        assert exported["n_rows"] == expected
    tasks = json.loads((tmp_path / "ls.json").read_text())
    assert [task["data"]["text"] for task in tasks] == [f"text {task['data']['id']}" for task in tasks]
    scores = [task["data"]["label_score"] for task in tasks]
    assert scores == sorted(scores)
    assert cli("export", run, "--to", "argilla", "--out", tmp_path / "all.json", "--all").code == 0
    assert len(json.loads((tmp_path / "all.json").read_text())) == 600
    np.savez(tmp_path / "x.npz", features=features + 1, labels=labels, texts=texts)
    ran = cli("export", run, "--to", "argilla", "--out", tmp_path / "no.json")
    assert ran.code == 2 and "has changed since the run" in ran.err and not (tmp_path / "no.json").exists()
    assert cli("export", run, "--to", "csv", "--out", tmp_path / "again.csv").code == 0
    ran = cli("export", run, "--to", "exel", "--out", tmp_path / "x.csv")
    assert ran.code == 2 and "--to must be one of" in ran.err
    ran = cli("export", run, "--to", "csv", "--out", tmp_path / "x.xlsx")
    assert ran.code == 2 and "--to csv writes a .csv file" in ran.err
