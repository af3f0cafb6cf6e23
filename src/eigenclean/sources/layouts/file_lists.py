"""Lists of image files, as data sets ship them: one name per line, perhaps with a class number."""

from pathlib import Path

from eigenclean.errors import InvalidData
from eigenclean.paths import check_relative
from eigenclean.sources.read_errors import explain_read_errors


def find_folder(root: Path, *names: str, holding: str) -> Path | None:
    """The first of ``root`` and its subfolders ``names`` that has a file ``holding``."""
    return next(
        (folder for folder in (root, *(root / name for name in names)) if (folder / holding).is_file()), None
    )


def read_names(path: Path) -> list[str]:
    """One name per line, checked; empty lines are passed over."""
    names = []
    for number, line in _lines(path):
        names.append(check_relative(line, by=f"{path}, line {number}"))
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
        numbers[check_relative(name.rstrip(), by=f"{path}, line {number}")] = int(code)
    return numbers


def _lines(path: Path) -> list[tuple[int, str]]:
    if not path.is_file():
        raise InvalidData(f"there is no file {path}; check that the data set is complete")
    with explain_read_errors(str(path), "text file"):
        text = path.read_text(encoding="utf-8-sig")
    return [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
