"""Running many cells: those that are known from the same code are not measured again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from eigenclean.errors import InvalidOption
from eigenclean.progress import track
from eigenclean_lab.store.cell import Cell

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
    wanted = [patterns] if isinstance(patterns, str) else list(patterns)
    for pattern in wanted:
        if not any(fnmatchcase(name, pattern) for name in settings):
            raise InvalidOption(f"{command}: no setting matches {pattern!r}; there are {', '.join(settings)}")
    return [value for name, value in settings.items() if any(fnmatchcase(name, pattern) for pattern in wanted)]
