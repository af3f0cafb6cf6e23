"""What `eigenclean bench train` should show, and whether it does: differences of last-epoch test accuracy."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from eigenclean.train import RECIPES, recipe
from eigenclean_lab.bench.train_cells import Cell, measured

WHERE = "fashion/*"  # elsewhere the differences are shown, and promise nothing
BEST_SINGLE = "best other recipe with one network"
CLAIMS: tuple[tuple[str, str, float], ...] = (  # recipe, another one, by how much the first is better at least
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
class Finding:
    """One claim in one setting.

    Attributes:
        setting: where.
        better: the recipe that should be better.
        than: the one it is compared with.
        difference: of the last-epoch test accuracies, mean over the seeds that both have.
        deviation: of that difference over the seeds; None with one seed.
        seeds: how many.
        bar: how large the difference must be; None where nothing is promised.
    """

    setting: str
    better: str
    than: str
    difference: float
    deviation: float | None
    seeds: int
    bar: float | None

    @property
    def passed(self) -> bool | None:
        """Is it so? None where nothing is promised."""
        return None if self.bar is None else self.difference >= self.bar

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**asdict(self), "passed": self.passed}


def findings(cells: Iterable[Cell]) -> list[Finding]:
    """Every claim in every setting where both recipes were measured, seed by seed."""
    table: dict[str, dict[str, dict[int, float]]] = {}
    for cell in measured(cells):
        table.setdefault(cell.setting, {}).setdefault(cell.recipe, {})[cell.seed] = cell.figures["last"]
    found = []
    for setting, accuracies in table.items():
        for better, than, bar in CLAIMS:
            other = _best_single(accuracies, better) if than == BEST_SINGLE else than
            if other is not None and accuracies.get(better, {}).keys() & accuracies.get(other, {}).keys():
                promised = bar if fnmatchcase(setting, WHERE) else None
                found.append(_finding(setting, better, other, than, accuracies, promised))
    return found


def _finding(
    setting: str, better: str, other: str, than: str, accuracies: dict[str, dict[int, float]], bar: float | None
) -> Finding:
    seeds = sorted(accuracies[better].keys() & accuracies[other].keys())
    differences = [accuracies[better][seed] - accuracies[other][seed] for seed in seeds]
    deviation = float(np.std(differences, ddof=1)) if len(seeds) > 1 else None
    shown = than if than == other else f"{other}, the {than}"
    return Finding(setting, better, shown, _mean(differences), deviation, len(seeds), bar)


def _best_single(accuracies: dict[str, dict[int, float]], but: str) -> str | None:
    """The recipe with one network that is best of those measured with the same seeds."""
    seeds = accuracies.get(but, {}).keys()
    if not seeds:
        return None
    rivals = {
        name: _mean([own[seed] for seed in seeds])
        for name, own in accuracies.items()
        if name != but and name in RECIPES and recipe(name).networks == 1 and seeds <= own.keys()
    }
    return max(rivals, key=lambda name: rivals[name], default=None)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
