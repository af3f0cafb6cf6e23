"""Where a command writes: never over what it reads, and not silently over another file."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eigenclean.cli.console import mention
from eigenclean.errors import InvalidOption


def check_output_file(out: Path, *reads: object, option: str = "--out") -> None:
    """Raise `InvalidOption` if the file to write is one of those that are read; say so if another is replaced.

    >>> check_output_file(Path(__file__), "digits", Path(__file__))
    Traceback (most recent call last):
    eigenclean.errors.InvalidOption: --out would replace ...output_files.py, which is read; name another file
    """
    if any(_is_same(out, path) for path in reads):
        raise InvalidOption(f"{option} would replace {out}, which is read; name another file")
    if os.path.isfile(out):
        mention(f"note: {out} is there already and is replaced")


def source_file(summary: Mapping[str, Any]) -> Path | None:
    """The file that a run was made from, as its summary says; it may be no file, or gone, or somebody else's."""
    record = summary.get("source")
    if not isinstance(record, Mapping):
        return None
    name, folder = record.get("name"), record.get("folder", "")
    return Path(folder, name) if isinstance(name, str) and isinstance(folder, str) else None


def mention_other_results(folder: Path, summary: Mapping[str, Any], source: str) -> None:
    """Say so when the folder of a run has results about other data, which will be replaced."""
    before = source_file(summary)
    if before is None or before == Path(os.getcwd(), source):
        return
    if (
        os.path.exists(before) or summary["source"]["name"] != source
    ):  # the name of bundled data is the same everywhere
        mention(f"note: {folder} has results about {before.name[:100]}, which are replaced")


def _is_same(out: Path, path: object) -> bool:
    try:
        return isinstance(path, str | os.PathLike) and os.path.samefile(out, path)
    except (OSError, ValueError):  # one of them is not there, or no path
        return False
