"""How well the recipes train in spite of wrong labels: every one in every setting, with several seeds."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.errors import EigencleanWarning, InvalidOption
from eigenclean.names import check_name
from eigenclean.progress import track
from eigenclean.train import RECIPES, Recipe, RobustClassifier, recipe
from eigenclean.train.callbacks import Callback
from eigenclean.train.optimiser import Optimiser
from eigenclean.workflows.train_callbacks import SelectionQuality
from eigenclean_lab.bench.cells import attempt, matching, today
from eigenclean_lab.bench.train_cells import FIGURES, Cell, fingerprint, measured
from eigenclean_lab.bench.train_data import SAMPLES, SETTINGS, TrainingCase, TrainingSetting

EPOCHS = recipe("standard").epochs
QUICK_RECIPES = ("standard", "fine", "judge", "co-teaching", "f-dividemix")
QUICK_EPOCHS = 9
_RATE = "forget_rate"  # the option that expects the true share of wrong labels

# The learning rate, for all recipes alike; only what a method itself keeps constant stays so under each of them.
SCHEDULES: dict[str, Callable[[int], dict[str, Any]]] = {  # changes of the optimiser, for so many epochs
    "preset": lambda epochs: {},  # down to 0 in equal steps, as soon as the warm-up is over
    "late": lambda epochs: {"fade": (2 * epochs // 3, epochs)},  # the same in the last third alone
    "constant": lambda epochs: {"fade": None},
    "steps": lambda epochs: {"fade": None, "milestones": (epochs // 2, 3 * epochs // 4), "gamma": 0.1},
}


@dataclass(frozen=True)
class Row:
    """A line of the table: mean and deviation over the seeds that were measured, or why there are none."""

    setting: str
    recipe: str
    seeds: int
    note: str
    mean: Mapping[str, float]
    deviation: Mapping[str, float]


def run(
    *,
    recipes: Sequence[str] | None = None,
    settings: str | Sequence[str] = "*",
    seeds: int = 3,
    schedule: str = "preset",
    epochs: int | None = None,
    samples: int = SAMPLES,
    data: Path | None = None,
    device: str | None = None,
    known: Iterable[Cell] = (),
    again: bool = False,
    save: Callable[[list[Cell]], None] | None = None,
) -> list[Cell]:
    """Measure what is not known yet; return the cells that were asked for, known ones included.

    Seeds come one after the other, so that a run that is stopped has compared everything with those before it.

    Args:
        recipes: names; None for all.
        settings: names or patterns such as "cifar10/*".
        seeds: how many.
        schedule: of the learning rate, a name from `SCHEDULES`.
        epochs: of one training, when not those of the preset; recipes that train twice take twice as many.
        samples: to learn from at most, and as many to test on.
        data: folder of the data; None for nowhere.
        device: "cpu", or None for the best there is.
        known: cells of earlier runs; one that was measured with the same key is not run again.
        again: run them all the same.
        save: called after every new cell with all cells, known ones included, so that nothing is lost.
    """
    for name, value in (("seeds", seeds), ("samples", samples)):
        if isinstance(value, bool) or value < 1:
            raise InvalidOption(f"bench train: {name} must be 1 or more, got {value}")
    chosen, grid = (
        chosen_recipes(recipes),
        [(seed, one) for seed in range(seeds) for one in chosen_settings(settings)],
    )
    for name in chosen:
        make_recipe(name, schedule, epochs)  # a wrong option is best heard of at once
    cells = {cell.place: cell for cell in known}
    wanted: list[tuple[str, str, int, str]] = []
    for seed, setting in track(grid, "settings"):
        case = cache(partial(setting.make, data, seed, samples))  # made when the first cell asks for it
        for name in track(chosen, f"{setting.name}, seed {seed}"):
            place = (name, setting.name, seed, schedule)
            wanted.append(place)
            key = fingerprint(make_recipe(name, schedule, epochs, net=setting.net), setting, seed, samples)
            old = cells.get(place)
            if not again and old is not None and old.status == "measured" and old.key == key:
                continue
            outcome = attempt(
                case, partial(measure, name, seed=seed, schedule=schedule, epochs=epochs, device=device)
            )
            cells[place] = Cell(*place, key, *outcome, date=today())
            if save is not None:
                save(list(cells.values()))
    return [cells[place] for place in wanted]


def measure(
    name: str,
    case: TrainingCase,
    seed: int = 0,
    schedule: str = "preset",
    epochs: int | None = None,
    device: str | None = None,
) -> dict[str, float]:
    """Train once; the figures, all of them as the last epoch left them but "best", the highest test accuracy.

    The truth reaches the record of an epoch, and nothing that learns. The exception is published: methods that ask
    for the share of wrong labels are told it.
    """
    rate = case.truth.noise_rate(case.labels)
    clock = Clock()
    model = RobustClassifier(
        make_recipe(name, schedule, epochs, rate, case.net),
        net=case.net,
        random_state=seed,
        device=device,
        callbacks=[clock, SelectionQuality(case.truth, case.labels)],
    )
    with warnings.catch_warnings():  # classes kept whole are no news here
        warnings.simplefilter("ignore", EigencleanWarning)
        model.fit(case.inputs, case.labels, test=case.test)
    last = model.history_[-1]
    found = {
        "last": last["test_accuracy"],
        "best": max(record["test_accuracy"] for record in model.history_),
        "f": last["f"],
        "kept": last["kept_fraction"],
        "noise_rate": rate,
        "seconds": clock.seconds,
    }
    return {figure: float(found[figure]) for figure in FIGURES}


class Clock(Callback):
    """Seconds of the training alone, without what comes before and after it."""

    seconds: float

    def on_train_begin(self, engine: Any) -> None:
        """Start."""
        self._started = time.perf_counter()

    def on_train_end(self, engine: Any) -> None:
        """Stop."""
        self.seconds = time.perf_counter() - self._started


def make_recipe(
    name: str,
    schedule: str = "preset",
    epochs: int | None = None,
    noise_rate: float | None = None,
    net: str = "small-cnn",
) -> Recipe:
    """The recipe as it is measured: the preset for such a network, and a schedule that is the same for all.

    >>> [round(make_recipe("fine", schedule).plan()[-1].lr, 6) for schedule in SCHEDULES]
    [5e-05, 0.0001, 0.001, 1e-05]
    """
    check_name(name, RECIPES, by="bench train", what="recipe")
    check_name(schedule, SCHEDULES, by="bench train", what="schedule")
    told = {} if noise_rate is None or _RATE not in signature(RECIPES[name]).parameters else {_RATE: noise_rate}
    chosen = recipe(name, preset="head" if net == "mlp" else "small", **told)
    changes = SCHEDULES[schedule](EPOCHS)
    own = tuple(replace(stage, optimiser=_changed(stage.optimiser, changes)) for stage in chosen.stages)
    chosen = replace(chosen, stages=own, optimiser=_changed(chosen.optimiser, changes))
    if epochs is None:
        return chosen
    return chosen.with_epochs(max(len(chosen.stages), round(chosen.epochs * epochs / EPOCHS)))


def chosen_recipes(names: Sequence[str] | None) -> list[str]:
    """The names that were asked for, checked; all recipes by default."""
    for name in names or ():
        check_name(name, RECIPES, by="bench train", what="recipe")
    return list(dict.fromkeys(names)) if names else list(RECIPES)


def chosen_settings(patterns: str | Sequence[str]) -> list[TrainingSetting]:
    """The settings whose names match one of the patterns, in the table's order.

    >>> [setting.name for setting in chosen_settings("fashion/*")]
    ['fashion/sym-50', 'fashion/pair-40']
    """
    return matching(patterns, SETTINGS, by="bench train")


def by_family(names: Iterable[str]) -> list[str]:
    """The names with those together that differ only in who selects: FINE inside a method after the method.

    >>> by_family(["gce+fine", "judge", "f-coteaching", "gce", "co-teaching", "fine", "standard"])
    ['standard', 'fine', 'judge', 'co-teaching', 'f-coteaching', 'gce', 'gce+fine']
    """
    families: list[tuple[Recipe, list[str]]] = []
    for name in RECIPES:
        alike = recipe(name).with_selector("fine")
        own = next((members for other, members in families if other == alike), None)
        if own is None:
            families.append((alike, [name]))
        else:
            own.append(name)
    asked = set(names)
    return [name for _, members in families for name in members if name in asked]


def summary_rows(cells: Iterable[Cell]) -> list[Row]:
    """Means over seeds by setting, in the order of both tables; the deviation is that of a sample."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.setting, cell.recipe), []).append(cell)
    rows = []
    for (setting, name), own in groups.items():
        there = measured(own)
        notes = [f"{cell.status}: {cell.note}" for cell in own if cell.status != "measured"]
        values = {figure: [cell.figures[figure] for cell in there] for figure in FIGURES} if there else {}
        mean = {figure: float(np.mean(found)) for figure, found in values.items()}
        deviation = {figure: float(np.std(found, ddof=1)) for figure, found in values.items() if len(found) > 1}
        rows.append(Row(setting, name, len(there), next(iter(notes), ""), mean, deviation))
    return rows


def machine_facts(device: str | None = None) -> dict[str, Any]:
    """What the seconds depend on."""
    facts = {"cpu_count": os.cpu_count(), "python": sys.version.split()[0], "numpy": np.__version__}
    if find_spec("torch") is None:
        return facts
    import torch

    best = "cuda" if torch.cuda.is_available() else "cpu"
    return {**facts, "torch": torch.__version__, "threads": torch.get_num_threads(), "device": device or best}


def _changed(settings: Optimiser | None, changes: Mapping[str, Any]) -> Any:
    """The optimiser with another schedule, if it has one at all."""
    return settings if settings is None or settings.fade is None else replace(settings, **changes)
