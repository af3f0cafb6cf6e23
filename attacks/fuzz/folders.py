"""Mutations of a folder: files that vanish, odd names, links, pipes, folders in the place of files."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

FolderMutation = Callable[[Path, random.Random], None]


def remove_file(folder: Path, rng: random.Random) -> None:
    """One file is missing."""
    _some_file(folder, rng).unlink()


def empty_file(folder: Path, rng: random.Random) -> None:
    """One file is empty."""
    _some_file(folder, rng).write_bytes(b"")


def folder_for_file(folder: Path, rng: random.Random) -> None:
    """A folder has the name of a file."""
    path = _some_file(folder, rng)
    path.unlink()
    path.mkdir()


def pipe_for_file(folder: Path, rng: random.Random) -> None:
    """A named pipe has the name of a file: whoever opens it waits for ever."""
    path = _some_file(folder, rng)
    path.unlink()
    os.mkfifo(path)


def dangling_link(folder: Path, rng: random.Random) -> None:
    """A symbolic link to nothing has the name of a file."""
    path = _some_file(folder, rng)
    path.unlink()
    path.symlink_to("nowhere")


def link_to_itself(folder: Path, rng: random.Random) -> None:
    """A symbolic link that leads to itself has the name of a file."""
    path = _some_file(folder, rng)
    path.unlink()
    path.symlink_to(path.name)


def link_to_parent(folder: Path, rng: random.Random) -> None:
    """A folder holds a link to the folder above it, so that the tree has no end."""
    (_some_file(folder, rng).parent / "loop").symlink_to("..")


def odd_file_name(folder: Path, rng: random.Random) -> None:
    """A file gets a name that is not UTF-8, or holds a line end or an escape sequence."""
    path = _some_file(folder, rng)
    odd = rng.choice((b"\xff", b"a\nb", b"\x1b[31m", b"-rf", b" ", "e\u0301".encode(), "😀".encode(), b"x" * 200))
    os.rename(os.fsencode(path), os.fsencode(path.parent) + b"/" + odd + os.fsencode(path.suffix))


def odd_folder_name(folder: Path, rng: random.Random) -> None:
    """A subfolder, perhaps of a class, gets such a name."""
    folders = sorted(path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink())
    if folders:
        odd = rng.choice((b"\xff\xfe", b"A:1", b"a\nb", b"\x1b[31m", b" ", b"x" * 200, b"..."))
        path = rng.choice(folders)
        os.rename(os.fsencode(path), os.fsencode(path.parent) + b"/" + odd)


def extra_file(folder: Path, rng: random.Random) -> None:
    """A foreign file lies beside the others."""
    path = _some_file(folder, rng)
    (path.parent / f"extra{path.suffix}").write_bytes(rng.randbytes(200))


def swapped_files(folder: Path, rng: random.Random) -> None:
    """Two files have changed places."""
    a, b = _some_file(folder, rng), _some_file(folder, rng)
    content = a.read_bytes()
    shutil.copyfile(b, a) if a != b else None
    b.write_bytes(content)


def unreadable_file(folder: Path, rng: random.Random) -> None:
    """One file may not be read (which root may nevertheless)."""
    _some_file(folder, rng).chmod(0)


FOLDERS: tuple[FolderMutation, ...] = (
    remove_file,
    empty_file,
    folder_for_file,
    pipe_for_file,
    dangling_link,
    link_to_itself,
    link_to_parent,
    odd_file_name,
    odd_folder_name,
    extra_file,
    swapped_files,
    unreadable_file,
)


def _some_file(folder: Path, rng: random.Random) -> Path:
    return rng.choice(sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()))
