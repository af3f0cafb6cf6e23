"""Files are written whole or not at all."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from eigenclean.errors import InvalidOption
from eigenclean.files import make_folder, replacing, write_json, write_text


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_success_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down" / "a.txt"
    write_text(target, "one\n")
    write_text(target, "zwei ä\n")
    assert target.read_bytes() == "zwei ä\n".encode()
    assert names(target.parent) == ["a.txt"]


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
    with pytest.raises(InvalidOption, match=r"cannot write .*a\.txt: No space left on device"), replacing(target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert names(tmp_path) == ["a.txt"]
    assert target.read_text() == "old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidOption, match="No space left on device"),
        replacing(tmp_path / "a.txt"),
        open("/dev/full", "w") as full,
    ):
        full.write("x" * 100_000)
    assert names(tmp_path) == []


def test_a_full_disk_at_the_very_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(InvalidOption, match="No space left"):
        write_text(tmp_path / "a.txt", "new")
    assert names(tmp_path) == []


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
    with pytest.raises(InvalidOption, match=r"cannot write .*Permission denied; choose another place"):
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
