"""Measuring one cell: time it, and turn missing data and errors into a status."""

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

from eigenclean.errors import EigencleanWarning, InvalidData, MissingExtra
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
