"""The cells of `eigenclean bench quality`: every detector in every setting, with several seeds."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean_lab.bench.quality import network_features, probabilities
from eigenclean_lab.bench.quality.case import Case, QualitySetting
from eigenclean_lab.bench.quality.contenders import NAMES, contenders, detector_options
from eigenclean_lab.bench.quality.data import DATA, HALVES, LOADERS
from eigenclean_lab.bench.quality.measure import FIGURES, RUNNERS, measure, runner_of
from eigenclean_lab.bench.quality.settings import SETTINGS
from eigenclean_lab.components import component_modules
from eigenclean_lab.machine import detection_facts
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

    def new_request(self, detector: str, setting: QualitySetting, seed: int) -> Cell:
        """The cell of a detector in a setting, not measured yet."""
        options = detector_options(detector, setting, seed)
        facts = [detector, options, repr(setting), seed, FIGURES]
        return Cell(
            {"detector": detector, "setting": setting.name},
            seed,
            short_hash(json.dumps(facts, sort_keys=True)),
            _code(detector, json.dumps(options), setting),
            "missing",
            facts={"half": setting.half, "family": setting.family, "machine": detection_facts()},
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
            facts = {"rows": len(case.labels), "classes": len(np.unique(case.labels))}
            return Measured(measure(request.task["detector"], case, request.seed), facts=facts)

        return measure_cell(request, figures)

    def group(self, cell: Cell) -> str:
        """Detector, half of the settings (measured at different times), and whether a network is involved."""
        setting = SETTINGS[cell.task["setting"]]
        learned = " on features of a network" if setting.learned else ""
        return f"{cell.task['detector']}, {setting.half}{learned}"

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
    half: str | None = None,
    seeds: int = 3,
    data: Path | None = None,
    known: Iterable[Cell] = (),
    remeasure: bool = False,
    save: Save | None = None,
) -> list[Cell]:
    """Measure what is not known yet; return the requested cells, known ones included.

    Args:
        detectors: names; None for the judge and its peers, in settings of earlier versions for all detectors.
        settings: names or patterns such as "cifar10/*".
        half: only settings of this half: "development", "confirmation" or "earlier".
        seeds: how many; settings whose labels do not depend on a seed run once.
        data: folder of the feature files; None for nowhere.
        known: cells of earlier runs.
        remeasure: measure also what is known.
        save: called with every new cell.
    """
    if isinstance(seeds, bool) or seeds < 1:
        raise InvalidOption(f"{_COMMAND}: seeds must be 1 or more, got {seeds}")
    if half is not None:
        check_name(half, HALVES, by=_COMMAND, what="half")
    for name in detectors or ():
        check_name(name, NAMES, by=_COMMAND, what="detector")
    suite = QualitySuite(data)
    requests = [
        suite.new_request(name, setting, seed)
        for setting in select_settings(settings, SETTINGS, command=_COMMAND)
        if half in (None, setting.half)
        for seed in range(seeds if setting.seeded else 1)
        for name in contenders(setting, detectors)
    ]
    return run_cells(requests, suite.measure, known=known, remeasure=remeasure, save=save)


@lru_cache(maxsize=1)  # cells of one case follow each other
def _case(setting: str, data: Path | None, seed: int) -> Case:
    return SETTINGS[setting].make(data, seed)


@lru_cache
def _code(detector: str, options: str, setting: QualitySetting) -> str:
    """Fingerprint of the detector and the measuring, and of what makes the features or probabilities."""
    entries = [*component_modules([detector, json.loads(options)]), RUNNERS[runner_of(detector)]]
    entries.append(LOADERS[DATA[setting.data].loader])
    if setting.learned:
        entries.append(network_features)
    if setting.model is not None:
        entries.append(probabilities)
    return code_key(measure, QualitySetting, *entries)
