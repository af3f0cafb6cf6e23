"""Measuring cells: one with its time and status, or many, of which the known ones are not measured again."""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TypeVar

from eigenclean.errors import EigencleanWarning, InvalidData, InvalidOption, MissingExtra
from eigenclean.progress import track
from eigenclean_lab.store.cell import Cell, Measured


class MissingData(InvalidData):
    """A measurement needs a file or a device that is not there."""


def measure_cell(request: Cell, measure: Callable[[], Measured]) -> Cell:
    """The requested cell with its figures, or with the reason why there are none.

    Errors become the status "failed" and never propagate: a run measures many cells, and hours of other cells
    must not be lost to one that fails.

    >>> request = Cell({"detector": "fine"}, 0, "key", "code", "missing")
    >>> measure_cell(request, lambda: Measured({"f": 0.5})).figures
    {'f': 0.5}
    """
    cell = replace(request, date=today())
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():  # a class that is kept whole is no news in a benchmark
            warnings.simplefilter("ignore", EigencleanWarning)
            result = measure()
    except (MissingData, MissingExtra) as error:
        return replace(cell, status="missing", note=str(error))
    except Exception as error:
        return replace(cell, status="failed", note=f"{type(error).__name__}: {' '.join(str(error).split())}")
    return replace(
        cell,
        status="measured",
        note="",
        figures=result.figures,
        curves=result.curves,
        facts={**cell.facts, **result.facts},
        seconds=round(time.perf_counter() - started, 1),
    )


def today() -> str:
    """The current day in UTC."""
    return datetime.now(UTC).date().isoformat()


Setting = TypeVar("Setting")
Save = Callable[[Sequence[Cell]], None]


def run_cells(
    requests: Sequence[Cell],
    measure: Callable[[Cell], Cell],
    *,
    known: Iterable[Cell] = (),
    remeasure: bool = False,
    save: Save | None = None,
) -> list[Cell]:
    """Measure the requested cells that are not known; return all of them in the order of the requests.

    Args:
        requests: cells without figures.
        measure: measures a request.
        known: cells of earlier runs.
        remeasure: measure also those that are known.
        save: called with each new cell, so that a stopped run loses nothing.
    """
    cells = {cell.identity: cell for cell in known}
    for request in track(requests, "cells"):
        earlier = cells.get(request.identity)
        if earlier is not None and earlier.is_current(request) and not remeasure:
            continue
        cells[request.identity] = measure(request)
        if save is not None:
            save([cells[request.identity]])
    return [cells[request.identity] for request in requests]


def select_settings(
    patterns: str | Sequence[str], settings: Mapping[str, Setting], *, command: str
) -> list[Setting]:
    """The settings whose names match one of the patterns, in the order of the table.

    >>> select_settings("digits/*", {"digits/a": 1, "other/a": 2}, command="bench")
    [1]
    """
    pattern_list = [patterns] if isinstance(patterns, str) else list(patterns)
    for pattern in pattern_list:
        if not any(fnmatchcase(name, pattern) for name in settings):
            raise InvalidOption(f"{command}: no setting matches {pattern!r}; there are {', '.join(settings)}")
    return [
        value for name, value in settings.items() if any(fnmatchcase(name, pattern) for pattern in pattern_list)
    ]
