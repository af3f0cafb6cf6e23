"""Patches, undo logs and records of moves by somebody else, and what a killed `patch apply` leaves behind."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from eigenclean.errors import InvalidData
from eigenclean.patch import Patch
from eigenclean.sources import Source, open_source
from eigenclean.sources.relabel import apply_patch


def patch_of(source: Source, changes: dict[Any, Any]) -> Patch:
    labels = dict(zip(source.ids.tolist(), source.labels.tolist(), strict=True))
    hashed = source.data_hash()
    return Patch.from_records(
        {"id": id, "decision": "relabel", "old": labels[id], "new": new, "data_hash": hashed}
        for id, new in changes.items()
    )


def images_at(root: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4), number, dtype=np.uint8)).save(root / name)
    return root


def contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and path.name != ".eigenclean-moved.json")
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


LABELS = ("A:1", "x:y", "a b", "ä", "~", "%2e%2e", "$HOME", "-rf", "train", "CON", "a\nb", "日本", "a" * 200)
REFUSED = ("A:", "C:", "...", "\\\\host", "a\\b", "..", "../x", "/etc", ".x", "a\0b", "a" * 300)


@pytest.mark.parametrize("label", [*LABELS, *REFUSED])
def test_what_can_be_applied_can_be_reverted(label: str, tmp_path: Path) -> None:
    root = images_at(tmp_path / "data", "cat/1.png", "cat/2.png", "dog/1.png")
    (tmp_path / "beside").mkdir()
    before = contents(tmp_path)
    patch = patch_of(open_source(root), {"cat/1.png": label})
    try:
        apply_patch(open_source(root), patch, root, root)
    except InvalidData as error:
        assert label in REFUSED, error
        assert contents(tmp_path) == before
        return
    assert label in LABELS
    assert contents(tmp_path)[f"data/{label}/1.png"] == before["data/cat/1.png"]
    apply_patch(open_source(root), patch, root, root, revert=True)
    assert contents(tmp_path) == before


def test_the_reported_attack_moves_nothing(tmp_path: Path) -> None:
    """Keys of the record of moves that lead to somebody's keys."""
    root = images_at(tmp_path / "data", "cat/1.png", "dog/1.png")
    (tmp_path / "outside").mkdir()
    hashed = open_source(root).data_hash()
    key = "../outside/authorized_keys"
    (root / ".eigenclean-moved.json").write_text(json.dumps({key: "dog/1.png"}))
    patch = Patch.from_records([{"id": key, "decision": "relabel", "old": "..", "new": "dog", "data_hash": hashed}])
    for by_id in (False, True):
        with pytest.raises(InvalidData, match="paths must stay inside the folder of the data"):
            apply_patch(open_source(root), patch, root, root, revert=True, by_id=by_id)
    assert not any((tmp_path / "outside").iterdir()) and (root / "dog" / "1.png").is_file()


DAMAGED = ("[]", "7", '"x"', "{", '{"a/1.png": 3}', '{"a/1.png": null}', "[" * 100_000, "\udcff")


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_record_of_moves_gets_a_sentence(text: str, tmp_path: Path) -> None:
    root = images_at(tmp_path / "data", "cat/1.png", "dog/1.png")
    patch = patch_of(open_source(root), {"cat/1.png": "dog"})
    (root / ".eigenclean-moved.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidData, match="which says where images were moved from, cannot be read"):
        apply_patch(open_source(root), patch, root, root)


# --- Undo logs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cell",
    [
        "dog",
        "cat,injected",
        "cat\ninjected,1",
        '"cat"\n"x"',
        '"cat","x"',
        "=cmd()",
        "cat\r",
        "\ud800",
        7,
        None,
        ["cat"],
    ],
)
def test_an_undo_log_spells_labels_and_nothing_else(cell: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,label,f\n1,cat,1\n2,dog,2\n")
    before = path.read_text()
    patch = patch_of(open_source(path), {1: "dog"})
    apply_patch(open_source(path), patch, path, path)
    entry = {"id": 1, "label": "cat", "cell": cell}
    (tmp_path / "x.csv.undo.json").write_text(json.dumps({"cells": [entry], "types": []}))
    apply_patch(open_source(path), patch, path, path, revert=True)
    assert path.read_text() == before


def test_an_undo_log_may_quote(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('id,label,f\n1,"cat",1\n2,dog,2\n')
    before = path.read_bytes()
    patch = patch_of(open_source(path), {1: "dog"})
    apply_patch(open_source(path), patch, path, path)
    apply_patch(open_source(path), patch, path, path, revert=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("types", [["O"], ["<f8"], ["V4"], ["nonsense"], [None], ["|S9"]])
def test_an_undo_log_chooses_no_other_type(types: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "y.npy"
    np.save(path, np.array(["cat", "dog", "a longer one"]))
    features = np.eye(3)
    source = open_source((features, np.load(path)))
    patch = patch_of(source, {0: "dog"})
    apply_patch(source, patch, path, path)
    (tmp_path / "y.npy.undo.json").write_text(json.dumps({"cells": [], "types": types}))
    apply_patch(open_source((features, np.load(path))), patch, path, path, revert=True)
    assert np.load(path).tolist() == ["cat", "dog", "a longer one"]


# --- Leftovers of killed processes --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dead() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_leftovers_of_killed_processes_are_removed_and_no_others(dead: int, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("id,label,f\n1,cat,1\n2,dog,2\n")
    patch = patch_of(open_source(path), {1: "dog"})
    ours = [f".x.csv.{dead}.abc123_d.tmp", f".x.csv.undo.json.{dead}.00000000.tmp"]
    theirs = [
        ".x.csv.tmp",
        ".x.csv.bak.tmp",
        f".notes.{dead}.abc.tmp",
        "x.csv.tmp",
        f".x.csv.{dead}.tmp",
        ".2024.x.tmp",
    ]
    running = f".x.csv.{os.getpid()}.abcdefgh.tmp"
    for name in (*ours, *theirs, running):
        (tmp_path / name).write_text("")
    for revert in (False, True, True):
        (tmp_path / ours[0]).write_text("")
        apply_patch(open_source(path), patch, path, path, revert=revert)
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*theirs, running, "x.csv"])


def test_leftovers_in_folders_are_removed(dead: int, tmp_path: Path) -> None:
    root = images_at(tmp_path / "data", "cat/1.png", "dog/1.png")
    patch = patch_of(open_source(root), {"cat/1.png": "dog"})
    leftover = root / f"..eigenclean-moved.json.{dead}.abcdefgh.tmp"
    leftover.write_text("")
    apply_patch(open_source(root), patch, root, root)
    assert not leftover.exists()
    saved, copy = tmp_path / "saved", tmp_path / "copy"
    saved.mkdir()
    table = pa.table({"label": ["cat", "dog"], "f": [1.0, 2.0]})
    with pa.OSFile(str(saved / "d.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    (saved / "state.json").write_text(json.dumps({"_data_files": [{"filename": "d.arrow"}], "_fingerprint": "a"}))
    (saved / "everything").symlink_to("/")  # a copy must not follow it
    partial = tmp_path / f".copy.{dead}.abcdef12.tmp"
    partial.mkdir()
    (partial / "d.arrow").write_text("")
    in_place = [saved / f".d.arrow.{dead}.abcdefgh.tmp", saved / f".state.json.{dead}.abcdefgh.tmp"]
    for path in in_place:
        path.write_text("")
    patch = patch_of(open_source(saved), {0: "dog"})
    apply_patch(open_source(saved), patch, saved, copy)
    assert not partial.exists() and (copy / "everything").is_symlink()
    apply_patch(open_source(saved), patch, saved, saved)
    assert not any(path.exists() for path in in_place)
    assert open_source(saved).labels.tolist() == open_source(copy).labels.tolist() == ["dog", "dog"]


# --- Parquet ------------------------------------------------------------------------------------------------------


def parquet_tables() -> dict[str, tuple[pa.Table, dict[str, Any]]]:
    labels = pa.array(["cat", "dog", "eel"] * 40)
    numbers = pa.array(np.random.default_rng(0).normal(size=120))
    plain = pa.table({"label": labels, "f": numbers})
    return {
        "plain": (plain, {}),
        "metadata": (plain.replace_schema_metadata({"made by": "me"}), {}),
        "row groups": (plain, {"row_group_size": 50}),
        "compressed": (plain, {"compression": "zstd", "use_dictionary": False}),
        "dictionary": (pa.table({"label": labels.dictionary_encode(), "f": numbers}), {}),
        "lists": (pa.table({"label": labels, "f": pa.array([[1.0, 2.0]] * 120)}), {}),
        "structs": (plain.append_column("s", pa.array([{"a": 1, "b": None}] * 120)), {}),
    }


@pytest.mark.parametrize("name", parquet_tables())
def test_reverting_gives_the_same_bytes_of_parquet(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table, settings = parquet_tables()[name]
    pq.write_table(table, path, **settings)
    before = path.read_bytes()
    options: Any = {"feature_columns": ["f"], "label_column": "label"}
    patch = patch_of(open_source(path, **options), {3: "dog", 70: "eel"})
    apply_patch(open_source(path, **options), patch, path, path)
    assert path.read_bytes() != before
    apply_patch(open_source(path, **options), patch, path, path, revert=True)
    assert path.read_bytes() == before
