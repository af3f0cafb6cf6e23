"""Files that a list names stay inside the folder of the data set; lists themselves are read here too."""

import re
from pathlib import Path, PurePosixPath, PureWindowsPath

from eigenclean.errors import InvalidData
from eigenclean.sources.reading import reading

_SUSPICIOUS = re.compile(r"^[./]*$|^/|\.\.|[\\:\0]")


def check_inside(name: str, *, by: str) -> str:
    """``name`` when it leads to somewhere inside the folder it is relative to; `InvalidData` otherwise.

    >>> check_inside("images/../../etc/passwd", by="list.txt, line 3")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidData: list.txt, line 3: names of images must stay inside the data set, got
    'images/../../etc/passwd'
    """
    # Lists have a million names, nearly all of them harmless at first sight; the rest is looked at properly.
    if _SUSPICIOUS.search(name):
        path = PurePosixPath(name.replace("\\", "/"))
        if (
            path.is_absolute()
            or PureWindowsPath(name).drive
            or ".." in path.parts
            or not path.parts
            or "\0" in name
        ):
            raise InvalidData(f"{by}: names of images must stay inside the data set, got {name!r}")
    return name


def find_folder(root: Path, *names: str, holding: str) -> Path | None:
    """The first of ``root`` and its subfolders ``names`` that has a file ``holding``."""
    return next(
        (folder for folder in (root, *(root / name for name in names)) if (folder / holding).is_file()), None
    )


def read_names(path: Path) -> list[str]:
    """One name per line, checked; empty lines are passed over."""
    names = []
    for number, line in _lines(path):
        names.append(check_inside(line, by=f"{path}, line {number}"))
    return names


def read_numbered(path: Path, n_classes: int) -> dict[str, int]:
    """Lines of a name and a class number, checked."""
    numbers: dict[str, int] = {}
    for number, line in _lines(path):
        name, _, code = line.rpartition(" ")
        if not name or not code.isascii() or not code.isdigit() or int(code) >= n_classes:
            raise InvalidData(
                f"{path}, line {number}: must be a name and a class from 0 to {n_classes - 1}, got {line[:80]!r}"
            )
        numbers[check_inside(name.rstrip(), by=f"{path}, line {number}")] = int(code)
    return numbers


def _lines(path: Path) -> list[tuple[int, str]]:
    if not path.is_file():
        raise InvalidData(f"there is no file {path}; check that the data set is complete")
    with reading(str(path), "text file"):
        text = path.read_text(encoding="utf-8-sig")
    return [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
