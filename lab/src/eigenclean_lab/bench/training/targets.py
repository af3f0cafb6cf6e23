"""Targets of `eigenclean bench train`: by how much a recipe should beat another in last-epoch test accuracy."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from eigenclean.train import RECIPES, recipe
from eigenclean_lab.store import Cell, measured_cells

SETTINGS_WITH_TARGETS = "fashion/*"  # elsewhere the differences are only reported
BEST_SINGLE = "best other recipe with one network"
TARGETS: tuple[tuple[str, str, float], ...] = (  # recipe, the one it is compared with, least difference
    ("fine", "standard", 0.04),
    ("f-coteaching", "co-teaching", 0.0),
    ("f-dividemix", "dividemix", 0.0),
    ("gce+fine", "gce", 0.0),
    ("sce+fine", "sce", 0.0),
    ("elr+fine", "elr", 0.0),
    ("judge", "fine", 0.015),
    ("judge", BEST_SINGLE, 0.0),
)


@dataclass(frozen=True)
class Difference:
    """One comparison of two recipes in one setting.

    Attributes:
        setting: name of the setting.
        better: the recipe that should be better.
        than: the one it is compared with.
        difference: of the last-epoch test accuracies, mean over the seeds that both have.
        deviation: of that difference over the seeds; None with one seed.
        seeds: how many.
        target: least difference; None where there is no target.
    """

    setting: str
    better: str
    than: str
    difference: float
    deviation: float | None
    seeds: int
    target: float | None

    @property
    def passed(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None else self.difference >= self.target

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "passed": self.passed}


def differences(cells: Iterable[Cell]) -> list[Difference]:
    """Every comparison in every setting where both recipes were measured with the same seeds."""
    table: dict[str, dict[str, dict[int, float]]] = {}
    for cell in measured_cells(cells):
        recipes = table.setdefault(cell.task["setting"], {})
        recipes.setdefault(cell.task["recipe"], {})[cell.seed] = cell.figures["last"] or 0.0
    results = []
    for setting, accuracies in table.items():
        for better, than, least in TARGETS:
            other = _best_single(accuracies, better) if than == BEST_SINGLE else than
            if other is not None and accuracies.get(better, {}).keys() & accuracies.get(other, {}).keys():
                target = least if fnmatchcase(setting, SETTINGS_WITH_TARGETS) else None
                results.append(_difference(setting, better, other, than, accuracies, target))
    return results


def _difference(
    setting: str, better: str, other: str, than: str, accuracies: dict[str, dict[int, float]], target: float | None
) -> Difference:
    seeds = sorted(accuracies[better].keys() & accuracies[other].keys())
    by_seed = [accuracies[better][seed] - accuracies[other][seed] for seed in seeds]
    deviation = float(np.std(by_seed, ddof=1)) if len(seeds) > 1 else None
    label = than if than == other else f"{other}, the {than}"
    return Difference(setting, better, label, _mean(by_seed), deviation, len(seeds), target)


def _best_single(accuracies: dict[str, dict[int, float]], excluded: str) -> str | None:
    """The best other recipe with one network among those measured with the same seeds."""
    seeds = accuracies.get(excluded, {}).keys()
    if not seeds:
        return None
    others = {
        name: _mean([by_seed[seed] for seed in seeds])
        for name, by_seed in accuracies.items()
        if name != excluded and name in RECIPES and recipe(name).networks == 1 and seeds <= by_seed.keys()
    }
    return max(others, key=lambda name: others[name], default=None)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
