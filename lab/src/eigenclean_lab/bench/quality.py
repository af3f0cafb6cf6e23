"""How good the detectors are: every one in every setting, with several seeds, on real data."""

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Bools
from eigenclean.detect import DETECTORS
from eigenclean.detect.base import plain_parameters
from eigenclean.detect.decisions import at_most_false_flags
from eigenclean.detect.options import build_detector
from eigenclean.errors import EigencleanWarning, InvalidOption
from eigenclean.metrics import score_verdict
from eigenclean.names import check_name
from eigenclean.progress import track
from eigenclean.verdict import Verdict
from eigenclean.version import __version__
from eigenclean_lab.bench import cells as cells_file
from eigenclean_lab.bench import quality_yardstick as yardstick
from eigenclean_lab.bench.cells import Status, attempt, matching, today
from eigenclean_lab.bench.code import code_hash, short_hash
from eigenclean_lab.bench.quality_data import SETTINGS, Case, Setting

FILE = "bench_quality.json"
FIGURES = (  # what a cell measures
    "f", "auroc", "average_precision", "ece", "noisy_precision", "noisy_recall", "clean_flagged",
    "false_flags_at_10", "found_at_10", "suggestion_accuracy", "noise_rate", "estimated_noise_rate",
    "flagged_share", "seconds",
)  # fmt: skip
_PROMISE = 0.1  # as in `detect --max-false-flags 0.1`
_JUDGING = ("detect/**/*.py", "mixture.py", "moments.py")
_YARDSTICK = ("experiments/benchmarks/quality_yardstick.py",)
_NETWORKS = ("experiments/network_features.py", "experiments/demo.py")  # that make features


@dataclass(frozen=True)
class Cell:
    """One detector in one setting with one seed.

    Attributes:
        detector: its name, or that of the yardstick.
        setting: name in `SETTINGS`.
        seed: of the noise and of the detector.
        key: fingerprint of what was run: options, code that judges, noise. Another key is another result.
        status: "measured"; "missing" when data or a library is not there; "failed" for any other error.
        note: the reason, when it was not measured.
        figures: the measurements by name (`FIGURES`); empty unless measured.
        version: of eigenclean.
        date: day of the run.
    """

    detector: str
    setting: str
    seed: int
    key: str
    status: Status
    note: str
    figures: Mapping[str, float | None]
    version: str = __version__
    date: str = ""

    @property
    def place(self) -> tuple[str, str, int]:
        """Detector, setting and seed."""
        return self.detector, self.setting, self.seed


@dataclass(frozen=True)
class Row:
    """A line of the table: the mean over the seeds that were measured, or why there is none."""

    setting: str
    detector: str
    seeds: int
    note: str
    figures: Mapping[str, float | None]


def run(
    *,
    detectors: Sequence[str] | None = None,
    settings: str | Sequence[str] = "*",
    seeds: int = 3,
    data: Path | None = None,
    known: Iterable[Cell] = (),
    again: bool = False,
    save: Callable[[list[Cell]], None] | None = None,
) -> list[Cell]:
    """Measure what is not known yet; return the cells that were asked for, known ones included.

    Args:
        detectors: names; None for all, and the yardstick.
        settings: names or patterns such as "cifar10/*".
        seeds: how many; settings whose labels do not depend on a seed run once.
        data: folder of the feature files; None for nowhere.
        known: cells of earlier runs; one that was measured with the same key is not run again.
        again: run them all the same.
        save: called after every new cell with all cells, known ones included, so that nothing is lost.
    """
    if isinstance(seeds, bool) or seeds < 1:
        raise InvalidOption(f"bench quality: seeds must be 1 or more, got {seeds}")
    judges, chosen = chosen_detectors(detectors), chosen_settings(settings)
    cells = {cell.place: cell for cell in known}
    wanted: list[tuple[str, str, int]] = []
    grid = [(setting, seed) for setting in chosen for seed in range(seeds if setting.seeded else 1)]
    for setting, seed in track(grid, "settings"):
        case = cache(partial(setting.make, data, seed))  # made when the first cell asks for it
        for name in track(judges, setting.name):
            place = (name, setting.name, seed)
            wanted.append(place)
            key = fingerprint(name, setting, seed)
            old = cells.get(place)
            if not again and old is not None and old.status == "measured" and old.key == key:
                continue
            outcome = attempt(case, partial(measure, name, seed=seed))
            cells[place] = Cell(*place, key, *outcome, date=today())
            if save is not None:
                save(list(cells.values()))
    return [cells[place] for place in wanted]


def measure(name: str, case: Case, seed: int = 0) -> dict[str, float | None]:
    """The figures of one detector on one case; the truth comes in after the verdict."""
    verdict, seconds = _judged(name, case, seed)
    quality = score_verdict(verdict, case.truth).as_dict()
    # A perfect share of nothing would look like a failure: without wrong labels there is nothing to find.
    if quality["noise_rate"] == 0:
        quality |= {"noisy_precision": None, "noisy_recall": None}
    found = {**quality, "clean_flagged": 1.0 - (quality["recall"] or 0.0), "seconds": seconds}
    found |= promise_kept(verdict.p_clean, case.truth.is_clean(case.labels))
    return {figure: found[figure] for figure in FIGURES}


def promise_kept(p_clean: Array, is_clean: Bools) -> dict[str, float | None]:
    """What ``--max-false-flags 0.1`` comes to: the share of flags that are wrong, and of wrong labels flagged.

    Without a flag there is no such share; nor without a wrong label, when every flag is wrong and says nothing new.

    >>> promise_kept(np.array([0.0, 0.1, 0.9]), np.array([False, True, True]))
    {'false_flags_at_10': 0.5, 'found_at_10': 1.0}
    """
    if is_clean.all():
        return {"false_flags_at_10": None, "found_at_10": None}
    flagged = at_most_false_flags(p_clean, _PROMISE)
    false = float(is_clean[flagged].mean()) if flagged.any() else None
    return {"false_flags_at_10": false, "found_at_10": float(flagged[~is_clean].mean())}


def summary_rows(cells: Iterable[Cell]) -> list[Row]:
    """Means over seeds, in the order of the cells; a figure that no seed has stays None."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.setting, cell.detector), []).append(cell)
    rows = []
    for (setting, detector), own in groups.items():
        measured = [cell for cell in own if cell.status == "measured"]
        notes = [f"{cell.status}: {cell.note}" for cell in own if cell.status != "measured"]
        figures = {figure: _mean(cell.figures.get(figure) for cell in measured) for figure in FIGURES}
        rows.append(Row(setting, detector, len(measured), next(iter(notes), ""), figures if measured else {}))
    return rows


def chosen_detectors(names: Sequence[str] | None) -> list[str]:
    """The names that were asked for, checked; all detectors and the yardstick by default."""
    known = [*DETECTORS, yardstick.NAME]
    for name in names or ():
        check_name(name, known, by="bench quality", what="detector")
    return list(dict.fromkeys(names)) if names else known


def chosen_settings(patterns: str | Sequence[str]) -> list[Setting]:
    """The settings whose names match one of the patterns, in the table's order.

    >>> [setting.name for setting in chosen_settings("digits/*-20")]
    ['digits/sym-20']
    """
    return matching(patterns, SETTINGS, by="bench quality")


def fingerprint(name: str, setting: Setting, seed: int) -> str:
    """What the result of a cell depends on, as a short hash: options, noise, seed, the code that judges."""
    options = plain_parameters(build_detector(name, {}, seed=seed)) if name in DETECTORS else {}
    code = (_JUDGING if name in DETECTORS else _YARDSTICK) + (_NETWORKS if setting.learned else ())
    facts = [name, options, repr(setting), seed, FIGURES, code_hash(*code)]
    return short_hash(json.dumps(facts, sort_keys=True))


def read_cells(path: Path) -> list[Cell]:
    """The cells of an earlier run; none if there is no file."""
    return cells_file.read_cells(path, Cell, by="bench quality")


def write_cells(path: Path, cells: Sequence[Cell], machine: Mapping[str, Any]) -> None:
    """Write the file anew, whole."""
    cells_file.write_cells(path, cells, SETTINGS, machine)


def machine_facts() -> dict[str, Any]:
    """What the seconds depend on."""
    import os

    import sklearn

    return {
        "cpu_count": os.cpu_count(),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "scikit_learn": sklearn.__version__,
    }


def _judged(name: str, case: Case, seed: int) -> tuple[Verdict, float]:
    with warnings.catch_warnings():  # classes kept whole are no news here
        warnings.simplefilter("ignore", EigencleanWarning)
        started = time.perf_counter()
        if name == yardstick.NAME:
            verdict = yardstick.judge_with_cleanlab(case.features, case.labels)
        else:
            judge = build_detector(name, {}, seed=seed)
            verdict = judge.fit_judge(case.features, case.labels)
        return verdict, time.perf_counter() - started


def _mean(values: Iterable[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None
