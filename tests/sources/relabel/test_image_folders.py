"""Folders of class folders: images move, none is lost, and all go back."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from eigenclean.errors import InvalidData
from eigenclean.patch import Patch
from eigenclean.sources import open_source
from eigenclean.sources.relabel import apply_patch, match_patch, reviewed_labels

NAMES = ["a/1.png", "a/2.png", "a/deep/3.png", "b/1.png", "b/2.png", "c/1.png"]


def folder_at(root: Path) -> Path:
    for number, name in enumerate(NAMES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4 + number), number, dtype=np.uint8)).save(root / name)
    return root


def contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def patch_of(root: Path, changes: dict[str, str]) -> Patch:
    hashed = open_source(root).data_hash()
    return Patch.from_records(
        [{"id": id, "decision": "relabel", "old": id.split("/")[0], "new": new, "data_hash": hashed}
         for id, new in changes.items()]
    )  # fmt: skip


def test_images_move_and_come_back(tmp_path: Path) -> None:
    root = folder_at(tmp_path)
    before = contents(root)
    patch = patch_of(root, {"a/1.png": "b", "a/deep/3.png": "b", "b/2.png": "new"})
    applied = apply_patch(open_source(root), patch, root, root)
    assert applied["changed"] == 3
    after = contents(root)
    # b/1.png is there already, so the one that comes says where from.
    assert sorted(after) == ["a/2.png", "b/1.from-a.png", "b/1.png", "b/deep/3.png", "c/1.png", "new/2.png"]
    assert after["b/1.from-a.png"] == before["a/1.png"] and after["new/2.png"] == before["b/2.png"]
    assert apply_patch(open_source(root), patch, root, root)["changed"] == 0
    apply_patch(open_source(root), patch, root, root, revert=True)
    assert contents(root) == before and sorted(os.listdir(root)) == ["a", "b", "c"]


@settings(max_examples=20)
@given(data=st.data())
def test_any_moves_interrupted_anywhere(data: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = folder_at(tmp_path_factory.mktemp("folder"))
    before = contents(root)
    changes = {
        id: data.draw(st.sampled_from([label for label in ("a", "b", "c", "d") if label != id[0]]))
        for id in data.draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    }
    patch = patch_of(root, changes)
    rename, left = os.rename, [data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4)), 99]

    def sometimes(source: Any, target: Any) -> None:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        rename(source, target)

    for back in (False, True):
        for _ in range(3):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(os, "rename", sometimes)
                try:
                    apply_patch(open_source(root), patch, root, root, revert=back)
                except KeyboardInterrupt:
                    left.pop(0)
                    assert sorted(contents(root).values()) == sorted(before.values())
        left = [data.draw(st.integers(0, 4)), 99, 99]
        if not back:
            labels = dict(zip(open_source(root).ids.tolist(), open_source(root).labels.tolist(), strict=True))
            by_content = {value: labels[name] for name, value in contents(root).items()}
            assert {id: by_content[before[id]] for id in changes} == changes
    assert contents(root) == before and sorted(os.listdir(root)) == ["a", "b", "c"]


def test_a_manifest_leaves_the_folder_alone(tmp_path: Path) -> None:
    root = folder_at(tmp_path / "images")
    before = contents(root)
    patch = patch_of(root, {"a/1.png": "b"})
    apply_patch(open_source(root), patch, root, tmp_path / "list.csv")
    lines = (tmp_path / "list.csv").read_text().splitlines()
    assert lines[:3] == ['"file","label"', '"a/1.png","b"', '"a/2.png","a"'] and len(lines) == 1 + len(NAMES)
    assert contents(root) == before
    apply_patch(open_source(root), patch, root, tmp_path / "y.npy")
    assert open_source(root, labels=tmp_path / "y.npy").labels.tolist() == ["b", "a", "a", "b", "b", "c"]


def test_decisions_about_moved_images(tmp_path: Path) -> None:
    root = folder_at(tmp_path)
    patch = patch_of(root, {"a/1.png": "b"})
    assert reviewed_labels(open_source(root), patch).labels.tolist() == ["b", "a", "a", "b", "b", "c"]
    apply_patch(open_source(root), patch, root, root)
    assert reviewed_labels(open_source(root), patch).labels.tolist() == [
        "a",
        "a",
        "b",
        "b",
        "b",
        "c",
    ]


def test_what_is_refused(tmp_path: Path) -> None:
    root = folder_at(tmp_path)
    before = contents(root)
    for label in ("../x", ".hidden", "x/y", ".."):
        with pytest.raises(InvalidData, match="labels of images are names of folders"):
            apply_patch(open_source(root), patch_of(root, {"a/1.png": label}), root, root)
    patch = patch_of(root, {"a/1.png": "b"})
    (root / "c" / "9.png").write_bytes(before["c/1.png"])
    with pytest.raises(InvalidData, match="the features or the order of rows differ"):
        match_patch(open_source(root), patch)
    (root / ".eigenclean-moved.json").write_text("oops")
    with pytest.raises(InvalidData, match="which says where images were moved from, cannot be read"):
        match_patch(open_source(root), patch)
    (root / ".eigenclean-moved.json").unlink()
    (root / "c" / "9.png").unlink()
    (root / "a" / "1.png").unlink()
    with pytest.raises(InvalidData, match=r"ids that are not there: 1 of 1, such as 'a/1\.png'"):
        match_patch(open_source(root), patch)
