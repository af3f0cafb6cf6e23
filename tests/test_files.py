"""Files are written whole or not at all."""

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.files import (
    make_folder,
    move_into_place,
    reading_arrays,
    remove,
    replacing,
    sweep,
    temporary_beside,
    write_json,
    write_text,
)


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_success_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down" / "a.txt"
    write_text(target, "one\n")
    write_text(target, "zwei ä\n")
    assert target.read_bytes() == "zwei ä\n".encode()
    assert names(target.parent) == ["a.txt"]


def test_half_of_a_surrogate_pair_is_escaped_as_json_does(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"name": "n\udcff.csv ä"})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"name": "n\udcff.csv ä"}


@pytest.mark.parametrize("name", ["o\udcff", "o\udcff/inside.txt"])
def test_names_that_are_not_utf_8_are_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidOption, match=r"o\\udcff.* its name is not UTF-8 text"):
        write_text(tmp_path / name, "x")
    assert names(tmp_path) == []


def test_target_is_untouched_until_the_end(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with replacing(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
        assert temporary.parent == target.parent  # else the rename would be a copy
    assert target.read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError, MemoryError])
def test_any_exit_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(error), replacing(target) as temporary:
        temporary.write_text("half of the n")
        raise error
    assert names(tmp_path) == ["a.txt"]
    assert target.read_text() == "old"


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with (
        pytest.raises(InvalidOption, match=r"cannot write .*a\.txt: no space left on the disk of"),
        replacing(target),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert names(tmp_path) == ["a.txt"]
    assert target.read_text() == "old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidOption, match="no space left on the disk of"),
        replacing(tmp_path / "a.txt"),
        open("/dev/full", "w") as full,
    ):
        full.write("x" * 100_000)
    assert names(tmp_path) == []


def test_a_full_disk_at_the_very_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(InvalidOption, match="no space left"):
        write_text(tmp_path / "a.txt", "new")
    assert names(tmp_path) == []


def test_a_full_disk_while_a_folder_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "elsewhere")

    (tmp_path / "data" / "deep").mkdir(parents=True)
    for name in ("a", "deep/b"):
        (tmp_path / "data" / name).write_text("x")
    monkeypatch.setattr(shutil, "copy2", no_space)
    with (
        pytest.raises(InvalidOption, match=r"cannot write \S+copy: no space left on the disk of \S+; nothing was"),
        temporary_beside(tmp_path / "copy") as temporary,
    ):
        shutil.copytree(tmp_path / "data", temporary, copy_function=shutil.copy2)
    assert names(tmp_path) == ["data"]


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for attempt in (
        lambda: write_text(tmp_path / "file" / "a.txt", "x"),
        lambda: make_folder(tmp_path / "file"),
        lambda: make_folder(tmp_path / "file" / "deeper"),
    ):
        with pytest.raises(InvalidOption, match=r"cannot create the folder .*choose another place") as error:
            attempt()
        assert "\n" not in str(error.value)
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_folder_where_a_file_should_be(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(InvalidOption, match=r"cannot write .*folder"):
        write_text(tmp_path / "folder", "x")
    assert names(tmp_path) == ["folder"]


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("eigenclean.files.tempfile.mkstemp", refuse)
    with pytest.raises(
        InvalidOption, match=r"cannot write .*Permission denied; nothing was changed: choose another place"
    ):
        write_text(tmp_path / "a.txt", "x")


def test_other_missing_files_keep_their_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="elsewhere"), replacing(tmp_path / "a.txt"):
        (tmp_path / "elsewhere").read_text()
    assert names(tmp_path) == []


def test_files_are_as_readable_as_any_other(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_text(tmp_path / "a.txt", "x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_json(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": [1, None], "a": "ä"})
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"b": [1, None], "a": "ä"}
    assert "ä" in text
    assert text.endswith("}\n")
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"b": float("nan")})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"b": [1, None], "a": "ä"}
    assert names(tmp_path) == ["a.json"]


def test_a_temporary_neighbour_is_gone_after_the_block_unless_it_was_moved(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "a"
    with temporary_beside(target) as temporary:
        assert temporary.parent == target.parent and not temporary.exists()
        temporary.mkdir()
        (temporary / "half").write_text("x")
    assert names(target.parent) == []
    with temporary_beside(target) as temporary:
        temporary.write_text("whole")
        move_into_place(temporary, target)
    assert names(target.parent) == ["a"] and target.read_text() == "whole"
    with pytest.raises(KeyboardInterrupt), temporary_beside(target) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert names(target.parent) == ["a"] and target.read_text() == "whole"
    with pytest.raises(InvalidOption, match=r"cannot write .*no space left"), temporary_beside(target):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("old", ["nothing", "file", "folder"])
@pytest.mark.parametrize("new", ["file", "folder"])
def test_whatever_was_there_is_replaced(old: str, new: str, tmp_path: Path) -> None:
    target, finished = tmp_path / "run", tmp_path / ".new.tmp"
    for path, kind in ((target, old), (finished, new)):
        if kind == "file":
            path.write_text(path.name)
        elif kind == "folder":
            path.mkdir()
            (path / path.name).write_text("x")
    move_into_place(finished, target)
    assert names(tmp_path) == ["run"]
    assert target.is_file() if new == "file" else names(target) == [".new.tmp"]


def test_removing_a_link_leaves_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "kept").write_text("x")
    (tmp_path / "link").symlink_to("folder")
    remove(tmp_path / "link")
    remove(tmp_path / "absent")
    assert names(tmp_path) == ["folder"] and names(tmp_path / "folder") == ["kept"]
    remove(tmp_path / "folder")
    assert names(tmp_path) == []


def test_only_temporary_files_of_dead_processes_are_swept(tmp_path: Path) -> None:
    finished = subprocess.Popen([sys.executable, "-c", ""])
    finished.wait()
    dead, alive = finished.pid, os.getpid()
    kept = [f".a.{alive}.0a1b.tmp", ".a.notes.tmp", f"a.{dead}.0a1b.tmp", f".a.{dead}.0a1b", f".a.{10**30}.0a.tmp"]
    for name in (*kept, f".a.{dead}.0a1b.tmp", f".b.c.{dead}.old.tmp"):
        (tmp_path / name).write_text("x")
    (tmp_path / f".folder.{dead}.0a1b.tmp").mkdir()
    (tmp_path / f".folder.{dead}.0a1b.tmp" / "half").write_text("x")
    sweep(tmp_path)
    assert names(tmp_path) == sorted(kept)


def test_arrays_cut_at_every_byte_are_one_sentence(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(4))
    np.savez(tmp_path / "a.npz", x=np.arange(4))
    for name in ("a.npy", "a.npz"):
        content = (tmp_path / name).read_bytes()
        path = tmp_path / f"cut{Path(name).suffix}"
        for end in range(len(content)):
            path.write_bytes(content[:end])
            with (
                pytest.raises(
                    InvalidData, match=r"cut\.np[yz] is not a readable \.np[yz] file of labels; write it"
                ),
                reading_arrays(path, "labels") as arrays,
            ):
                np.asarray(arrays if name == "a.npy" else arrays["x"])


def test_pickled_objects_in_arrays_are_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidData, match="not a readable"), reading_arrays(tmp_path / "a.npy", "labels"):
        pass
    np.savez(tmp_path / "a.npz", x=np.array([{}], dtype=object))
    with pytest.raises(InvalidData, match="not a readable"), reading_arrays(tmp_path / "a.npz", "labels") as arrays:
        np.asarray(arrays["x"])


def test_errors_of_the_caller_are_its_own(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(3))
    with pytest.raises(InvalidData, match="too few"), reading_arrays(tmp_path / "a.npy", "labels") as array:
        assert array.tolist() == [0, 1, 2]
        raise InvalidData("too few")


def test_a_header_that_is_no_python_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\0\x0a\0{'shape': (")
    with pytest.raises(InvalidData, match="not a readable"), reading_arrays(tmp_path / "a.npy", "labels"):
        pass
