"""The cells of `eigenclean bench quality`: every detector in every setting, with several seeds."""

import json
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from eigenclean.detect import DETECTORS, build_detector, plain_parameters
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean_lab.bench.quality import baseline, network_features
from eigenclean_lab.bench.quality.measure import FIGURES, measure
from eigenclean_lab.bench.quality.settings import SETTINGS, Case, Setting
from eigenclean_lab.components import component_modules
from eigenclean_lab.store import (
    Cell,
    Measured,
    Save,
    Store,
    code_key,
    measure_cell,
    run_cells,
    select_settings,
    short_hash,
)

FILE = "bench_quality.json"
_COMMAND = "bench quality"


@dataclass(frozen=True)
class QualitySuite:
    """Requests and measures cells of one detector in one setting.

    Attributes:
        data: folder of the feature files; None for nowhere.
    """

    data: Path | None = None
    name = "quality"

    def new_request(self, detector: str, setting: Setting, seed: int) -> Cell:
        """The cell of a detector in a setting, not measured yet."""
        options = plain_parameters(build_detector(detector, {}, seed=seed)) if detector in DETECTORS else {}
        facts = [detector, options, repr(setting), seed, FIGURES]
        return Cell(
            {"detector": detector, "setting": setting.name},
            seed,
            short_hash(json.dumps(facts, sort_keys=True)),
            _code(detector, json.dumps(options), setting.learned),
            "missing",
            facts={"machine": machine_facts()},
            command=shlex.join(
                ["eigenclean", *_COMMAND.split(), "--detectors", detector, "--settings", setting.name,
                 "--seeds", str(seed + 1)]
            ),
        )  # fmt: skip

    def request(self, cell: Cell) -> Cell:
        """The cell as the present code would ask for it."""
        return self.new_request(cell.task["detector"], SETTINGS[cell.task["setting"]], cell.seed)

    def measure(self, request: Cell) -> Cell:
        """The requested cell, measured now."""

        def figures() -> Measured:
            case = _case(request.task["setting"], self.data, request.seed)
            return Measured(measure(request.task["detector"], case, request.seed))

        return measure_cell(request, figures)

    def group(self, cell: Cell) -> str:
        """Detector, and whether a network has made the features."""
        learned = SETTINGS[cell.task["setting"]].learned
        return str(cell.task["detector"]) + (" on features of a network" if learned else "")

    def is_comparable(self, figure: str) -> bool:
        """Everything but the time."""
        return figure != "seconds"


def quality_store(path: Path) -> Store:
    """The file of the cells, in the order of the settings."""
    order = {name: number for number, name in enumerate(SETTINGS)}
    return Store(
        path,
        _COMMAND,
        lambda cell: (order.get(cell.task["setting"], len(order)), cell.task["detector"], cell.seed),
    )


def run(
    *,
    detectors: Sequence[str] | None = None,
    settings: str | Sequence[str] = "*",
    seeds: int = 3,
    data: Path | None = None,
    known: Iterable[Cell] = (),
    remeasure: bool = False,
    save: Save | None = None,
) -> list[Cell]:
    """Measure what is not known yet; return the requested cells, known ones included.

    Args:
        detectors: names; None for all, and the baseline.
        settings: names or patterns such as "cifar10/*".
        seeds: how many; settings whose labels do not depend on a seed run once.
        data: folder of the feature files; None for nowhere.
        known: cells of earlier runs.
        remeasure: measure also what is known.
        save: called with every new cell.
    """
    if isinstance(seeds, bool) or seeds < 1:
        raise InvalidOption(f"{_COMMAND}: seeds must be 1 or more, got {seeds}")
    suite, names = QualitySuite(data), select_detectors(detectors)
    requests = [
        suite.new_request(name, setting, seed)
        for setting in select_settings(settings, SETTINGS, command=_COMMAND)
        for seed in range(seeds if setting.seeded else 1)
        for name in names
    ]
    return run_cells(requests, suite.measure, known=known, remeasure=remeasure, save=save)


def select_detectors(names: Sequence[str] | None) -> list[str]:
    """The named detectors, checked; all and the baseline when None."""
    known = [*DETECTORS, baseline.NAME]
    for name in names or ():
        check_name(name, known, by=_COMMAND, what="detector")
    return list(dict.fromkeys(names)) if names else known


def machine_facts() -> dict[str, Any]:
    """What times and the last digits of figures depend on."""
    return {
        "cpu_count": os.cpu_count(),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "scikit_learn": sklearn.__version__,
    }


@lru_cache(maxsize=1)  # cells of one case follow each other
def _case(setting: str, data: Path | None, seed: int) -> Case:
    return SETTINGS[setting].make(data, seed)


@lru_cache
def _code(detector: str, options: str, learned: bool) -> str:
    """Fingerprint of the detector, the settings and the measuring, and of a network that makes the features."""
    entries = component_modules([detector, json.loads(options)])
    return code_key(measure, *entries, *([network_features] if learned else []))
