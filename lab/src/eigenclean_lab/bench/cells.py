"""What benchmarks of many cells share: choose settings, measure a cell or say why not, keep cells in a file."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeVar

from eigenclean.errors import InvalidData, InvalidOption, MissingExtra
from eigenclean.files import write_json
from eigenclean_lab.bench.quality_data import MissingData

C = TypeVar("C")  # a dataclass that says its setting and its place in the table
S = TypeVar("S")
Status = Literal["measured", "missing", "failed"]


def matching(patterns: str | Sequence[str], settings: Mapping[str, S], *, by: str) -> list[S]:
    """The settings whose names match one of the patterns, in the table's order.

    >>> matching("digits/*", {"digits/a": 1, "other/a": 2}, by="bench")
    [1]
    """
    asked = [patterns] if isinstance(patterns, str) else list(patterns)
    for pattern in asked:
        if not any(fnmatchcase(name, pattern) for name in settings):
            raise InvalidOption(f"{by}: no setting matches {pattern!r}; there are {', '.join(settings)}")
    return [setting for name, setting in settings.items() if any(fnmatchcase(name, one) for one in asked)]


def attempt(
    make: Callable[[], S], measure: Callable[[S], Mapping[str, Any]]
) -> tuple[Status, str, Mapping[str, Any]]:
    """Status, note and figures of ``measure(make())``; hours of other cells are not lost to one that fails."""
    try:
        return "measured", "", measure(make())
    except (MissingData, MissingExtra) as error:
        return "missing", str(error), {}
    except Exception as error:
        return "failed", f"{type(error).__name__}: {' '.join(str(error).split())}", {}


def today() -> str:
    """The day, for the record."""
    return datetime.now(UTC).date().isoformat()


def read_cells(path: Path, kind: type[C], *, by: str) -> list[C]:
    """The cells of an earlier run; none if there is no file."""
    if not path.is_file():
        return []
    try:
        return [kind(**cell) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    except (ValueError, KeyError, TypeError, OSError):
        raise InvalidData(f"{path} is not a file of `eigenclean {by}`; move it away") from None


def write_cells(path: Path, cells: Iterable[Any], settings: Iterable[str], machine: Mapping[str, Any]) -> None:
    """Write the file anew, whole: facts of the machine and one record per cell, in the order of the settings."""
    order = {name: number for number, name in enumerate(settings)}
    ordered = sorted(cells, key=lambda cell: (order.get(cell.setting, len(order)), *cell.place))
    write_json(path, {"machine": dict(machine), "cells": [asdict(cell) for cell in ordered]})
