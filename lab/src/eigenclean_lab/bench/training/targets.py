"""Targets of `eigenclean bench train`: by how much a recipe should beat another in last-epoch test accuracy."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np

from eigenclean.train import RECIPES, recipe
from eigenclean_lab.bench.training.contenders import CLEANLEARNING, JUDGED, MODELS
from eigenclean_lab.bench.training.settings import TABLES
from eigenclean_lab.store import Cell, measured_cells

BEST_SINGLE = "best other recipe with one network"
BEST_OTHER = "best of all others"
_IMAGES = ("fashion/*",)
_VECTORS = ("cifar10/*", *(f"{table}/*" for table in TABLES))
Accuracies = Mapping[str, Mapping[int, float]]  # by recipe and seed


class AccuracyTarget(NamedTuple):
    """By how much a recipe should beat another in some settings; in others the difference is only reported."""

    recipe: str
    than: str
    least: float
    settings: tuple[str, ...] = _IMAGES


TARGETS = (
    AccuracyTarget("fine", "standard", 0.04),
    AccuracyTarget("f-coteaching", "co-teaching", 0.0),
    AccuracyTarget("f-dividemix", "dividemix", 0.0),
    AccuracyTarget("gce+fine", "gce", 0.0),
    AccuracyTarget("sce+fine", "sce", 0.0),
    AccuracyTarget("elr+fine", "elr", 0.0),
    AccuracyTarget("judge", "fine", 0.015),
    AccuracyTarget("judge", BEST_SINGLE, 0.0),
    AccuracyTarget("probe", BEST_OTHER, -0.005, _VECTORS),
    *(AccuracyTarget(f"{model}+{JUDGED}", f"{model}+{CLEANLEARNING}", 0.0, _VECTORS) for model in MODELS),
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
        for target in TARGETS:
            others = _others(target, accuracies)
            if others and accuracies.get(target.recipe, {}).keys() & accuracies.get(others[0], {}).keys():
                results.append(_difference(setting, target, others, accuracies))
    return results


def _difference(setting: str, target: AccuracyTarget, others: Sequence[str], accuracies: Accuracies) -> Difference:
    better, than = accuracies[target.recipe], accuracies[others[0]]
    seeds = sorted(better.keys() & than.keys())
    by_seed = [better[seed] - than[seed] for seed in seeds]
    deviation = float(np.std(by_seed, ddof=1)) if len(seeds) > 1 else None
    label = others[0] if target.than == others[0] else f"{others[0]}, the {target.than}"
    if target.than == BEST_OTHER:
        label += f" ({len(others)})"
    least = target.least if any(fnmatchcase(setting, pattern) for pattern in target.settings) else None
    return Difference(setting, target.recipe, label, _mean(by_seed), deviation, len(seeds), least)


def _others(target: AccuracyTarget, accuracies: Accuracies) -> list[str]:
    """The recipes to compare with; for the best of several, all measured with the same seeds, best first."""
    if target.than not in (BEST_SINGLE, BEST_OTHER):
        return [target.than]
    seeds = accuracies.get(target.recipe, {}).keys()
    if not seeds:
        return []
    means = {
        name: _mean([by_seed[seed] for seed in seeds])
        for name, by_seed in accuracies.items()
        if name != target.recipe and seeds <= by_seed.keys() and (target.than == BEST_OTHER or _is_single(name))
    }
    return sorted(means, key=lambda name: -means[name])


def _is_single(name: str) -> bool:
    return name in RECIPES and recipe(name).networks == 1


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
