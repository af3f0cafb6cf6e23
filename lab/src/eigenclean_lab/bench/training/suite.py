"""The cells of `eigenclean bench train`: every recipe in every setting, with several seeds."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidOption
from eigenclean.train import RECIPES
from eigenclean_lab.bench.training.classifying import measure_classifier
from eigenclean_lab.bench.training.contenders import check_any, contenders, describe, select_contenders
from eigenclean_lab.bench.training.measure import FIGURES, measure
from eigenclean_lab.bench.training.recipes import make_recipe
from eigenclean_lab.bench.training.settings import SAMPLES, SETTINGS, TrainingCase, TrainingSetting
from eigenclean_lab.components import component_modules
from eigenclean_lab.machine import training_facts
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

FILE = "bench_train.json"
QUICK_RECIPES = ("probe", "standard", "fine", "judge", "co-teaching", "f-dividemix")
QUICK_EPOCHS = 9
_COMMAND = "bench train"


@dataclass(frozen=True)
class TrainingSuite:
    """Requests and measures cells of one recipe in one setting.

    Attributes:
        data: folder of the data; None for nowhere.
        device: "cpu", or None for the best there is.
    """

    data: Path | None = None
    device: str | None = None
    name = "train"

    def new_request(
        self,
        recipe: str,
        setting: TrainingSetting,
        seed: int,
        schedule: str = "preset",
        epochs: int | None = None,
        samples: int = SAMPLES,
    ) -> Cell:
        """The cell of a recipe, or of what trains without a network, in a setting; not measured yet."""
        code: Any = measure if recipe in RECIPES else measure_classifier
        if recipe in RECIPES:
            chosen = make_recipe(recipe, schedule, epochs, net=setting.net).to_dict()
        else:
            chosen = describe(recipe)
        facts = [chosen, repr(setting), setting.net, seed, samples, FIGURES]
        words = ["eigenclean", *_COMMAND.split(), "--recipes", recipe, "--settings", setting.name,
                 "--seeds", str(seed + 1), "--schedule", schedule, "--samples", str(samples)]  # fmt: skip
        return Cell(
            {"recipe": recipe, "setting": setting.name, "schedule": schedule},
            seed,
            short_hash(json.dumps(facts, sort_keys=True)),
            code_key(code, *component_modules([chosen, setting.net] if recipe in RECIPES else chosen)),
            "missing",
            facts={"epochs": epochs, "samples": samples, "machine": training_facts(self.device)},
            command=shlex.join([*words, *([] if epochs is None else ["--epochs", str(epochs)])]),
        )

    def request(self, cell: Cell) -> Cell:
        """The cell as the present code would ask for it."""
        task, facts = cell.task, cell.facts
        setting = SETTINGS[task["setting"]]
        return self.new_request(
            task["recipe"],
            setting,
            cell.seed,
            task["schedule"],
            facts.get("epochs"),
            facts.get("samples", SAMPLES),
        )

    def measure(self, request: Cell) -> Cell:
        """The requested cell, trained now."""

        def figures() -> Measured:
            case = _case(request.task["setting"], self.data, request.seed, request.facts["samples"])
            if request.task["recipe"] not in RECIPES:
                return Measured(measure_classifier(request.task["recipe"], case, request.seed))
            return Measured(
                measure(
                    request.task["recipe"],
                    case,
                    request.seed,
                    schedule=request.task["schedule"],
                    epochs=request.facts["epochs"],
                    device=self.device,
                )
            )

        return measure_cell(request, figures)

    def group(self, cell: Cell) -> str:
        """The recipe and the network: their cells run the same code."""
        if cell.task["recipe"] not in RECIPES:
            return str(cell.task["recipe"])
        return f"{cell.task['recipe']} with {SETTINGS[cell.task['setting']].net}"

    def is_comparable(self, figure: str) -> bool:
        """Everything but the time."""
        return figure != "seconds"


def training_store(path: Path) -> Store:
    """The file of the cells, in the order of the settings."""
    order = {name: number for number, name in enumerate(SETTINGS)}
    return Store(
        path,
        _COMMAND,
        lambda cell: (
            order.get(cell.task["setting"], len(order)),
            cell.task["recipe"],
            cell.seed,
            cell.task["schedule"],
        ),
    )


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
    remeasure: bool = False,
    save: Save | None = None,
) -> list[Cell]:
    """Measure what is not known yet; return the requested cells, known ones included.

    Seeds come one after the other, so that a run that is stopped has compared all recipes on the seeds before.

    Args:
        recipes: names of recipes, or of what trains without a network (see `contenders`); None for all.
        settings: names or patterns such as "cifar10/*".
        seeds: how many.
        schedule: of the learning rate, a name from `SCHEDULES`.
        epochs: of one training, when not those of the preset; recipes that train twice take twice as many.
        samples: to learn from at most, and as many to test on.
        data: folder of the data; None for nowhere.
        device: "cpu", or None for the best there is.
        known: cells of earlier runs.
        remeasure: measure also what is known.
        save: called with every new cell.
    """
    for name, value in (("seeds", seeds), ("samples", samples)):
        if isinstance(value, bool) or value < 1:
            raise InvalidOption(f"{_COMMAND}: {name} must be 1 or more, got {value}")
    suite, names = TrainingSuite(data, device), select_contenders(recipes)
    chosen = select_settings(settings, SETTINGS, command=_COMMAND)
    requests = [
        suite.new_request(name, setting, seed, schedule, epochs, samples)
        for seed in range(seeds)
        for setting in chosen
        for name in contenders(setting, names)
    ]
    check_any(requests, names)
    return run_cells(requests, suite.measure, known=known, remeasure=remeasure, save=save)


@lru_cache(maxsize=1)  # cells of one case follow each other
def _case(setting: str, data: Path | None, seed: int, samples: int) -> TrainingCase:
    return SETTINGS[setting].make(data, seed, samples)
