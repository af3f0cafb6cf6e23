"""Applying a patch: killed at every operation, and with a disk that is full from there on."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from attacks.faults import FULL, FaultyDisk, Killed, every_fault
from eigenclean.cli.app import run as main
from eigenclean.errors import EigencleanError
from eigenclean.patch import Patch
from eigenclean.sources import open_source
from eigenclean.sources.relabel import apply_patch

FEATURES = np.arange(8.0).reshape(4, 2)
LABELS = ["cat", "dog", "cat", "dog"]
AFTER = ["cat", "ibis, large", "dog", "dog"]
KINDS = ["x.npz", "x.csv", "x.csv.gz", "x.jsonl", "x.parquet", "x.arrow", "saved", "images"]


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncs are counted, but nobody waits for them."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def write(folder: Path, kind: str) -> Path:
    """The same four rows in one of the formats."""
    path = folder / kind
    table = pa.table({"f0": FEATURES[:, 0], "f1": FEATURES[:, 1], "label": LABELS})
    if kind == "images":
        for number, label in enumerate(LABELS):
            (path / label).mkdir(parents=True, exist_ok=True)
            Image.new("L", (4, 4), 60 * number).save(path / label / f"{number}.png")
    elif kind == "saved":
        path.mkdir(parents=True)
        for number in (0, 1):
            with pa.ipc.new_stream(str(path / f"data-0000{number}-of-00002.arrow"), table.schema) as writer:
                writer.write_table(table.slice(2 * number, 2))
        files = ", ".join(f'{{"filename": "data-0000{number}-of-00002.arrow"}}' for number in (0, 1))
        (path / "state.json").write_text(f'{{"_data_files": [{files}], "_fingerprint": "abc"}}')
        (path / "dataset_info.json").write_text("{}")
    elif kind == "x.npz":
        np.savez(path, features=FEATURES, labels=np.array(LABELS))
    elif kind == "x.csv":
        rows = [f"{a},{b},{c}\n" for (a, b), c in zip(FEATURES, LABELS, strict=True)]
        path.write_text("".join(["f0,f1,label\n", *rows]))
    elif kind == "x.csv.gz":
        plain = write(folder, "x.csv")
        path.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
        plain.unlink()
    elif kind == "x.jsonl":
        path.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    elif kind == "x.parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith(".tmp"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def patch_of(path: Path) -> Patch:
    source = open_source(path)
    after = dict(zip(source.ids.tolist(), source.labels.tolist(), strict=True))
    after |= {source.ids[1].item(): "ibis, large", source.ids[2].item(): "dog" if path.name != "images" else "elk"}
    records: list[dict[str, Any]] = [
        {"id": id, "decision": "relabel", "old": old, "new": after[id], "data_hash": source.data_hash()}
        for id, old in zip(source.ids.tolist(), source.labels.tolist(), strict=True)
        if after[id] != old
    ]
    return Patch.from_records(records)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [Killed, FULL])
def test_a_patch(kind: str, tmp_path: Path, error: type[Killed] | int) -> None:
    work, kept = tmp_path / "work", tmp_path / "kept"
    kept.mkdir()
    patch = patch_of(write(kept, kind))
    before, labels = contents(kept), open_source(kept / kind).labels.tolist()
    shutil.copytree(kept, work)
    path = work / kind
    apply_patch(open_source(path), patch, path, path)
    changed = contents(work)
    assert changed != before

    def prepare() -> None:
        shutil.rmtree(work)
        shutil.copytree(kept, work)

    def run() -> None:
        apply_patch(open_source(path), patch, path, path)

    def check(raised: BaseException | None) -> None:
        assert raised is None or isinstance(raised, Killed | EigencleanError)
        if error == FULL and raised is not None:
            assert "no space left on the disk of" in str(raised) and "not a readable" not in str(raised)
            assert "; nothing was changed: make room there" in str(raised) and "\n" not in str(raised)
            assert contents(work) == before
            assert not list(work.rglob("*.tmp"))
        if error == FULL:
            return
        run()  # does the rest
        assert contents(work) == changed
        apply_patch(open_source(path), patch, path, path, revert=True)
        assert {*contents(work)} == {*before}
        if kind in ("x.npz", "x.csv", "x.csv.gz", "x.jsonl", "x.arrow", "images"):
            assert contents(work) == before
        assert open_source(path).labels.tolist() == labels

    assert every_fault(work, run, check, prepare=prepare, error=error) >= 4


def test_the_command_says_that_the_disk_is_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "x.csv")
    patch_of(path).save(tmp_path / "p.jsonl")
    before = contents(tmp_path)
    with FaultyDisk(tmp_path, 1, FULL):
        assert main(["patch", "apply", str(tmp_path / "p.jsonl"), str(path), "--in-place"]) == 2
    sentence = capsys.readouterr().err
    assert f"cannot write {path}: no space left on the disk of {tmp_path}; nothing was changed" in sentence
    assert sentence.count("\n") == 1 and "readable" not in sentence
    assert contents(tmp_path) == before


# Bytecode is not written: CPython before 3.12.8 and 3.13.1 keeps a file that the limit has cut off, and every later
# import of that module, in any process, would fail.
_SMALL_FILES = """
import resource, sys
sys.dont_write_bytecode = True
from eigenclean.cli.app import run
patch, *paths = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
sys.exit({run(["patch", "apply", patch, path, "--in-place", "--by-id"]) for path in paths} != {2})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="this system cannot limit the size of files")
def test_a_real_limit_on_the_size_of_files(tmp_path: Path) -> None:
    paths = [write(tmp_path, kind) for kind in ("x.npz", "x.csv", "x.parquet", "x.arrow")]
    patch = patch_of(paths[0])
    patch.save(tmp_path / "p.jsonl")
    with open(paths[1], "a") as file:  # beyond the limit
        file.write("".join(f"{number},0,cat\n" for number in range(100)))
    before = contents(tmp_path)
    arguments = [sys.executable, "-c", _SMALL_FILES, str(tmp_path / "p.jsonl"), *map(str, paths)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for path, sentence in zip(paths, done.stderr.splitlines(), strict=True):
        assert sentence.startswith(f"eigenclean: cannot write {path}: ")
        assert "File too large; nothing was changed" in sentence
    assert contents(tmp_path) == before
