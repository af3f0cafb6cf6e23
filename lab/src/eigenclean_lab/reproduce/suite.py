"""The cells of `eigenclean reproduce`: a task of the paper, measured with one seed in one profile."""

import json
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from eigenclean.extras import require
from eigenclean.train import recipe
from eigenclean_lab.components import component_modules
from eigenclean_lab.machine import training_facts
from eigenclean_lab.reproduce.context import Context
from eigenclean_lab.reproduce.data import loader_module
from eigenclean_lab.reproduce.profile import Profile, ProfileData
from eigenclean_lab.reproduce.recipes import FEATURES, PROBE, make_recipe
from eigenclean_lab.reproduce.values import Task
from eigenclean_lab.store import Cell, Measured, Store, code_key, measure_cell, short_hash

Measure = Callable[[Task, int, Context], Measured]
# Where each kind of task is measured; imported on use, as most of them need torch.
KINDS: dict[str, tuple[str, str]] = {
    "train": ("eigenclean_lab.reproduce.measure.training", "measure_training"),
    "judge": ("eigenclean_lab.reproduce.measure.feature_analyses", "measure_judge"),
    "rounds": ("eigenclean_lab.reproduce.measure.rounds", "measure_rounds"),
    "shift": ("eigenclean_lab.reproduce.measure.feature_analyses", "measure_shift"),
    "fraction": ("eigenclean_lab.reproduce.measure.feature_analyses", "measure_fraction"),
    "plane": ("eigenclean_lab.reproduce.measure.feature_analyses", "measure_plane"),
    "filter": ("eigenclean_lab.reproduce.measure.filtering", "measure_filter"),
    "theory": ("eigenclean_lab.reproduce.measure.theorems", "measure_theorem"),
}
_VALUES = ("eigenclean_lab.reproduce.profiles", "eigenclean.train.recipes.dividemix")  # they count by their values
_TIMES = ("seconds", "pass_seconds", "ratio")  # figures that differ from run to run


@dataclass(frozen=True)
class PaperSuite:
    """Requests and measures tasks of the paper.

    Attributes:
        context: profile, data and device.
    """

    context: Context
    name = "paper"

    def new_request(self, task: Task, seed: int, command: str) -> Cell:
        """The cell of a task, not measured yet."""
        profile = self.context.profile
        return Cell(
            task_record(task, profile),
            seed,
            task_key(task, profile, seed),
            _code(task, profile),
            "missing",
            facts={"machine": training_facts(self.context.device)},
            command=command,
        )

    def request(self, cell: Cell) -> Cell:
        """The cell as the present code would ask for it; nothing asks for data that the profile no longer has."""
        task = Task.from_dict(cell.task)
        if not self.context.profile.has(task.spec.kind, task.data):
            return replace(cell, key="", code="", status="missing", figures={}, curves={})
        return self.new_request(task, cell.seed, cell.command)

    def measure(self, request: Cell) -> Cell:
        """The requested cell, measured now."""
        task, context = Task.from_dict(request.task), self.context
        if context.runs is not None:  # checkpoints of this cell alone, by the same code and recipe
            context = replace(context, runs=context.runs / f"{request.key}-{request.code}")
        cell = measure_cell(request, lambda: measure_function(task.spec.kind)(task, request.seed, context))
        if context.runs is not None and cell.is_measured:  # a finished training is not resumed
            shutil.rmtree(context.runs, ignore_errors=True)
        return replace(cell, figures=rounded(cell.figures), curves=rounded(cell.curves))

    def group(self, cell: Cell) -> str:
        """Kind of the task, its method, and the network."""
        kind, method = cell.task["kind"], cell.task["method"]
        if kind == "theory":
            return f"{kind} {method}"
        return f"{kind} {method} with {self.context.profile.data(kind, cell.task['data']).net}"

    def is_comparable(self, figure: str) -> bool:
        """Everything but times."""
        return figure not in _TIMES


def paper_store(folder: Path, profile: Profile) -> Store:
    """The file of a profile."""
    return Store(folder / f"reproduce_{profile.name}.jsonl", "reproduce")


def task_record(task: Task, profile: Profile) -> dict[str, Any]:
    """What identifies the cells of a task: the task and the profile, as plain values."""
    return {"profile": profile.name, **task.as_dict()}


def task_key(task: Task, profile: Profile, seed: int) -> str:
    """Fingerprint of the task, the seed and everything that the profile sets for the data."""
    kind = task.spec.kind
    data = profile.name if kind == "theory" else asdict(profile.data(kind, task.data))
    if isinstance(data, dict):
        data = {name: value for name, value in data.items() if name not in ("description", "needs")}
        # Fields that came later count where they are set, so that cells of other data keep their keys.
        data = {name: value for name, value in data.items() if value or name not in ("vectors", "optimiser")}
    return short_hash(json.dumps([task.as_dict(), data, seed], sort_keys=True))


def command_for(experiment: str, profile: Profile, row: str, column: str, seed: int, as_released: bool) -> str:
    """The command line that measures one cell alone.

    >>> from eigenclean_lab.reproduce.profiles import SMALL
    >>> command_for("table1", SMALL, "fine", "C10 S20", 0, False)
    "eigenclean reproduce table1 --profile small --rows fine --columns 'C10 S20' --seed 0"
    """
    words = ["eigenclean", "reproduce", experiment, "--profile", profile.name, "--rows", row, "--columns", column]
    return shlex.join([*words, "--seed", str(seed), *(["--as-released"] if as_released else [])])


def measure_function(kind: str) -> Measure:
    """The function that measures tasks of that kind."""
    if kind != "theory":
        for library in ("torch", "accelerate"):
            require(library, extra="train", caller="reproduce")
    module, function = KINDS[kind]
    measure: Measure = getattr(import_module(module), function)
    return measure


def rounded(value: Any) -> Any:
    """A plain value with six significant digits in every number, which keeps the file short."""
    if isinstance(value, Mapping):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _code(task: Task, profile: Profile) -> str:
    """Fingerprint of the measuring function, the loader, the recipe, and the components that task and data name.

    A recipe counts by its value, not by the module that makes it. The values of the profiles do not count here:
    those of the data are in the key of the cell.
    """
    kind = task.spec.kind
    if kind == "theory":
        return _code_of(KINDS[kind][0])
    data = profile.data(kind, task.data)
    trained = _trained(task, data)
    described: list[Any] = [task.as_dict(), data.net, data.preset, task.noise.partition(":")[0], trained]
    if kind == "filter":
        described.append("small-loss")  # the baseline of its times
    sources = [data.source] if data.vectors is None else [data.source, data.vectors]
    code = _code_of(KINDS[kind][0], *map(loader_module, sources), *sorted(component_modules(described)))
    return short_hash(json.dumps([code, trained], sort_keys=True))


def _trained(task: Task, data: ProfileData) -> dict[str, Any]:
    """The recipe of a training, or of the network that makes the features of an analysis, as a plain value."""
    if task.spec.method == PROBE:
        return recipe(PROBE).to_dict()
    if task.spec.kind == "train":
        return make_recipe(task, data, noise_rate=0.5).to_dict()
    return make_recipe(replace(task, spec=FEATURES), data).to_dict()


@cache
def _code_of(*modules: str) -> str:
    return code_key(*modules, without=_VALUES)
