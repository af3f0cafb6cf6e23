"""`drop_removed`: rows leave files, images leave class folders, all other bytes stay, and everything comes back."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from PIL import Image

from eigenclean.cli.app import run as eigenclean
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.patch import Patch
from eigenclean.review.store import FILE, KEEP, Change, Store
from eigenclean.sources import Source, open_source
from eigenclean.sources.relabel import apply_patch, put_rows_back, removal
from eigenclean.workflows.detection.decisions import known_decisions

N = 6
LABELS = ["cat", "dog", "cat", "dog", "cat", "dog"]
LINES = ['"k0",0.5,cat', "k1,1.5,dog", '"k""2",2.5,"cat"', '"k\n3",3.5,dog', "k4,4.5,cat", "k5,5.5,dog"]


def patch_for(source: Source, changes: dict[int, Any], removed: list[int]) -> Patch:
    records: list[dict[str, Any]] = [
        {"row": row, "decision": "relabel", "new": new} for row, new in changes.items()
    ]
    records += [{"row": row, "decision": "remove"} for row in removed]
    hashed = source.data_hash()
    for record in records:
        row = record.pop("row")
        record |= {"id": source.ids[row].item(), "old": source.labels[row].item(), "data_hash": hashed}
    return Patch.from_records(records)


def csv_file(path: Path) -> list[str]:
    path.write_bytes("\r\n".join(["key,x,label", "", *LINES, ""]).encode())
    return LINES


def gz_file(path: Path) -> list[str]:
    path.write_bytes(gzip.compress("\n".join(["key,x,label", *LINES]).encode("utf-16")))
    return LINES


def jsonl_file(path: Path) -> list[str]:
    lines = [f'{{"key": "k{i}", "x":{i}.5,  "label": "{label}"}}' for i, label in enumerate(LABELS)]
    path.write_text("\n\n".join(lines) + "\n")
    return lines


def json_file(path: Path) -> list[str]:
    lines = [f'{{"key": "k{i}", "x":{i}.5,  "label": "{label}"}}' for i, label in enumerate(LABELS)]
    path.write_text("[ " + " ,\n".join(lines) + "\n]\n")
    return lines


def read_text(path: Path) -> str:
    content = path.read_bytes()
    return gzip.decompress(content).decode("utf-16") if path.suffix == ".gz" else content.decode()


TEXTS = {"x.csv": csv_file, "x.csv.gz": gz_file, "x.jsonl": jsonl_file, "x.json": json_file}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("removed", [[0], [5], [1, 3], [4, 5], [0, 1, 2, 3, 4]], ids=str)
def test_text_files_keep_all_other_bytes(name: str, removed: list[int], tmp_path: Path) -> None:
    path = tmp_path / name
    lines = TEXTS[name](path)
    before, text = path.read_bytes(), read_text(path)
    source = open_source(path, id_column="key")
    ids, labels = source.ids.tolist(), source.labels.tolist()
    patch = patch_for(source, {}, removed)
    result = apply_patch(source, patch, path, path, drop_removed=True)
    assert (result["dropped"], result["changed"]) == (len(removed), 0)
    stays = [row for row in range(N) if row not in removed]
    after = open_source(path, id_column="key")
    assert after.ids.tolist() == [ids[row] for row in stays]
    assert after.labels.tolist() == [labels[row] for row in stays]
    left = read_text(path)
    assert all(lines[row] in left for row in stays) and not any(lines[row] in left for row in removed)
    assert len(left) < len(text) and left.startswith(text[:3])
    put_rows_back(path)
    assert path.read_bytes() == before and sorted(os.listdir(tmp_path)) == [name]


def table() -> pa.Table:
    return pa.table({"f": [[float(i), 1.0] for i in range(N)], "label": LABELS, "key": [f"k{i}" for i in range(N)]})


def npz(path: Path) -> None:
    np.savez(
        path, features=np.arange(2.0 * N).reshape(N, 2), labels=np.array(LABELS), other=np.arange(3),
        ids=np.array([f"k{i}" for i in range(N)]), images=np.zeros((N, 2, 2), dtype=np.uint8),
    )  # fmt: skip


TABLES: dict[str, Callable[[Path], None]] = {
    "x.parquet": lambda path: pq.write_table(table(), path, row_group_size=2, compression="zstd"),
    "x.feather": lambda path: pyarrow.feather.write_feather(table(), str(path), chunksize=4),
    "x.npz": npz,
}


@pytest.mark.parametrize("name", TABLES)
def test_labels_and_rows_together_and_back(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, patch_file = tmp_path / name, tmp_path / "patch.jsonl"
    TABLES[name](path)
    before = path.read_bytes()
    options = [] if name.endswith("npz") else ["--id-column", "key"]
    columns: Any = {"id_column": "key"} if options else {}
    source = open_source(path, **columns)
    patch_for(source, {1: "emu"}, [2, 3]).save(patch_file)
    features = source.features()[[0, 1, 4, 5], 0].tolist()
    command = ["patch", "apply", str(path), str(patch_file), *options, "--drop-removed"]
    assert eigenclean([*command, "--out", str(tmp_path / f"copy{path.suffix}")]) == 0
    assert path.read_bytes() == before and not (tmp_path / f"{name}.removed.json").exists()
    for file in (tmp_path / f"copy{path.suffix}", path):
        if file == path:
            assert eigenclean([*command, "--in-place"]) == 0
        after = open_source(file, **columns)
        assert after.ids.tolist() == ["k0", "k1", "k4", "k5"]
        assert after.labels.tolist() == ["cat", "emu", "cat", "dog"]
    assert after.features()[:, 0].tolist() == features
    capsys.readouterr()
    assert eigenclean([*command, "--in-place"]) == 0  # twice is the same as once
    assert (
        "0 labels corrected" in (said := capsys.readouterr().out) and "2 samples had been taken out already" in said
    )
    assert eigenclean(["patch", "diff", str(path), str(patch_file), *options]) == 0
    assert f"x.with-removed{path.suffix} would change, 1 have been" in capsys.readouterr().out
    revert = ["patch", "revert", str(path), str(patch_file), *options]
    assert eigenclean([*revert, "--out", str(tmp_path / f"old{path.suffix}")]) == 0
    assert open_source(tmp_path / f"old{path.suffix}", **columns).labels.tolist() == LABELS
    assert len(open_source(path)) == 4
    assert eigenclean([*revert, "--in-place"]) == 0
    said = capsys.readouterr().out
    assert "1 old label put back" in said and "2 samples put back" in said
    if name.endswith(".feather"):  # content, not bytes, as for labels alone
        assert pyarrow.feather.read_table(str(path)).equals(table())
    else:
        assert path.read_bytes() == before
    assert not list(tmp_path.glob("x.*removed*")) and not list(tmp_path.glob(".*"))


def test_images_leave_the_class_folders(tmp_path: Path) -> None:
    root, names = tmp_path / "images", ["a/1.png", "a/deep/2.png", "b/1.png", "b/2.png"]
    for number, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4 + number), number, dtype=np.uint8)).save(root / name)
    before = {name: (root / name).read_bytes() for name in names}
    patch = patch_for(open_source(root), {0: "c"}, [1, 3])
    assert apply_patch(open_source(root), patch, root, tmp_path / "list.csv", drop_removed=True)["dropped"] == 2
    assert (tmp_path / "list.csv").read_text().splitlines()[1:] == ['"a/1.png","c"', '"b/1.png","b"']
    result = apply_patch(open_source(root), patch, root, root, drop_removed=True)
    assert (result["dropped"], result["changed"], result["kept_in"]) == (2, 1, "_removed")
    assert open_source(root).ids.tolist() == ["b/1.png", "c/1.png"]
    assert (root / "_removed/a/deep/2.png").read_bytes() == before["a/deep/2.png"]
    again = apply_patch(open_source(root), patch, root, root, drop_removed=True)
    assert (again["dropped"], again["dropped_before"], again["already"]) == (0, 2, 1)
    back = apply_patch(open_source(root), patch, root, root, revert=True)
    assert (back["dropped"], back["changed"]) == (2, 1)
    assert {name: (root / name).read_bytes() for name in names} == before
    assert sorted(os.listdir(root)) == ["a", "b"]


def test_a_kill_between_leaves_something_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    csv_file(path)
    before = path.read_bytes()
    patch = patch_for(open_source(path, id_column="key"), {0: "dog"}, [2])
    replace = os.replace
    for n_allowed in range(5):
        left = [n_allowed]

        def sometimes(source: Any, target: Any, left: list[int] = left) -> None:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            replace(source, target)

        monkeypatch.setattr(os, "replace", sometimes)
        try:
            apply_patch(open_source(path, id_column="key"), patch, path, path, drop_removed=True)
        except KeyboardInterrupt:
            monkeypatch.setattr(os, "replace", replace)
            assert len(open_source(path, id_column="key")) in (5, 6)
            apply_patch(open_source(path, id_column="key"), patch, path, path, drop_removed=True)
        monkeypatch.setattr(os, "replace", replace)
        assert len(open_source(path, id_column="key")) == 5
        put_rows_back(path)
        apply_patch(open_source(path, id_column="key"), patch, path, path, revert=True)
        assert path.read_bytes() == before and os.listdir(tmp_path) == ["x.csv"]


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    csv_file(path)

    def opened() -> Source:
        return open_source(path, id_column="key")

    patch = patch_for(opened(), {0: "dog"}, [2])
    with pytest.raises(InvalidOption, match="removes all rows of"):
        apply_patch(opened(), patch_for(opened(), {}, list(range(N))), path, path, drop_removed=True)
    with pytest.raises(InvalidOption, match=r"can be written as \.csv"):
        apply_patch(opened(), patch, path, tmp_path / "y.npy", drop_removed=True)
    (tmp_path / "x.with-removed.csv").write_text("mine")
    with pytest.raises(InvalidOption, match="there already"):
        apply_patch(opened(), patch, path, path, drop_removed=True)
    (tmp_path / "x.with-removed.csv").unlink()
    apply_patch(opened(), patch, path, path, drop_removed=True)
    with pytest.raises(InvalidOption, match="applied already"):
        apply_patch(opened(), patch, path, tmp_path / "copy.csv")
    later = Patch.from_records([*patch.to_records()[:1]])
    with pytest.raises(InvalidData, match="rows were taken out of it"):
        apply_patch(opened(), later, path, path)
    path.write_text(path.read_text().replace("4.5", "4.6"))  # changed since: nothing is put back over it
    assert removal.last_removal(path, patch) is None
    (tmp_path / "x.with-removed.csv").write_text("changed")
    with pytest.raises(InvalidData, match="missing or was changed"):
        put_rows_back(path)
    np.save(tmp_path / "f.npy", np.eye(3))
    np.save(tmp_path / "y.npy", np.array([0, 1, 0]))
    alone = open_source(tmp_path / "f.npy", labels=tmp_path / "y.npy")
    with pytest.raises(InvalidOption, match="a file of their own"):
        apply_patch(alone, patch_for(alone, {}, [1]), tmp_path / "y.npy", tmp_path / "y.npy", drop_removed=True)


@pytest.mark.parametrize("log", ["{}", "[1]", '{"removals": 3}', '{"removals": [{"patch": "../x"}]}', "[" * 9999])
def test_a_damaged_log_is_no_log(log: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    csv_file(path)
    (tmp_path / "x.csv.removed.json").write_text(log)
    assert not removal.has_removals(path)
    with pytest.raises(InvalidData, match="missing"):
        put_rows_back(path)


def test_decisions_about_rows_that_are_numbered_anew_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["x,label", *(f"{i}.5,{label}" for i, label in enumerate(["cat"] * 5 + ["dog"]))]))
    source = open_source(path)
    with Store(tmp_path / FILE, source.data_hash()) as store:
        store.record([Change(3, "cat", KEEP)], reviewer="Ada", action="1")
    known = known_decisions(None, tmp_path, source, notify=lambda note: None)
    assert known is not None and known.verified.is_known.tolist().index(True) == 3
    patch = patch_for(source, {}, [1])
    patch.save(tmp_path / "patch.jsonl")
    apply_patch(source, patch, path, path, drop_removed=True)
    assert json.loads((tmp_path / "x.csv.removed.json").read_text())["removals"][0]["n_rows"] == 1
    assert known_decisions(None, tmp_path, open_source(path), notify=lambda note: None) is None  # row 3 is another
    with pytest.raises(InvalidData, match="numbered anew"):
        known_decisions(tmp_path / "patch.jsonl", tmp_path, open_source(path), notify=lambda note: None)
