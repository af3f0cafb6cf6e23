"""The cells of `eigenclean bench scale`: one for every case, with its ratio and its target."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean_lab.bench.scale import run as cases
from eigenclean_lab.bench.scale import worker
from eigenclean_lab.bench.scale.run import GROUPS, Measurement, ScaleSizes
from eigenclean_lab.bench.speed.ratios import THREADS
from eigenclean_lab.components import component_modules
from eigenclean_lab.machine import timing_facts
from eigenclean_lab.store import Cell, Measured, Store, code_key, measure_cell, short_hash

FILE = "bench_scale.json"
_COMMAND = "bench scale"
# Figures that must come out equal when a case is run again; all others are times, ratios of times or memory.
_EQUAL = ("differing_flags", "rows", "columns", "classes", "bytes", "rounds", "passes")


@dataclass(frozen=True)
class ScaleSuite:
    """Turns measurements into cells, and repeats them.

    Attributes:
        sizes: of the data.
        folder: where the data are written meanwhile; None for the system's temporary folder.
        load: processors that others kept busy before the run; None when unknown.
    """

    sizes: ScaleSizes
    folder: Path | None = None
    load: float | None = None
    name = "scale"

    def new_request(self, group: str, case: str, baseline: str | None) -> Cell:
        """The cell of a case, not measured yet."""
        task = {"group": group, "case": case, "baseline": baseline}
        return Cell(
            task,
            0,
            short_hash(json.dumps([task, asdict(self.sizes)], sort_keys=True)),
            _code(),
            "missing",
            facts={"sizes": asdict(self.sizes), "machine": {**timing_facts(THREADS), "busy_before": self.load}},
            command=f"eigenclean {_COMMAND} --cases {group}",
        )

    def cell(self, measurement: Measurement) -> Cell:
        """The cell of a measurement."""
        request = self.new_request(measurement.group, measurement.case, _baseline(measurement))
        return measure_cell(request, lambda: _measured(measurement))

    def request(self, cell: Cell) -> Cell:
        """The cell as the present code would ask for it."""
        return self.new_request(cell.task["group"], cell.task["case"], cell.task["baseline"])

    def measure(self, request: Cell) -> Cell:
        """The requested cell, measured now with all other cases of its group."""

        def figures() -> Measured:
            results = _run_group(self.sizes, self.folder, request.task["group"])
            return _measured(next(case for case in results if case.case == request.task["case"]))

        return measure_cell(request, figures)

    def group(self, cell: Cell) -> str:
        """All cases run the same engines."""
        return "engines"

    def is_comparable(self, figure: str) -> bool:
        """Whether a figure is a count, not a time or a size in memory."""
        return figure in _EQUAL


def scale_store(path: Path) -> Store:
    """The file of the cells, in the order of the cases."""
    return Store(path, _COMMAND, lambda cell: (GROUPS.index(cell.task["group"]), cell.task["case"]))


def check_sizes(cells: Sequence[Cell], sizes: ScaleSizes, path: Path) -> None:
    """Refuse to mix results of data of other sizes."""
    if any(cell.facts.get("sizes") != asdict(sizes) for cell in cells):
        raise InvalidData(f"{path} has results of other sizes; measure all cases, or move it away")


def figures_of(cells: Sequence[Cell], case: str) -> Mapping[str, Any] | None:
    """The figures of a case; None when it was not measured."""
    return next((cell.figures for cell in cells if cell.task["case"] == case), None)


def _baseline(measurement: Measurement) -> str | None:
    return None if measurement.ratio is None else measurement.ratio.baseline


def _measured(measurement: Measurement) -> Measured:
    ratio = measurement.ratio
    if ratio is None:
        return Measured(measurement.numbers)
    figures = {"ratio": ratio.ratio, "seconds": ratio.seconds, "baseline_seconds": ratio.baseline_seconds}
    return Measured(
        {**figures, **measurement.numbers},
        facts={"target": ratio.target, "passed": ratio.passed, "remark": ratio.note},
    )


@lru_cache(maxsize=1)  # cells of one group follow each other
def _run_group(sizes: ScaleSizes, folder: Path | None, group: str) -> tuple[Measurement, ...]:
    return tuple(cases.run(sizes, folder=folder, groups=[group]))


@lru_cache
def _code() -> str:
    return code_key(cases, worker, *component_modules(["judge", "fine"]))
