"""What `eigenclean bench train` has measured: cells, their fingerprints, and the file they are kept in."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenclean.losses import LOSSES
from eigenclean.nets import NETS
from eigenclean.train.recipe import Recipe
from eigenclean.version import __version__
from eigenclean_lab.bench import cells
from eigenclean_lab.bench.cells import Status
from eigenclean_lab.bench.code import code_hash, short_hash
from eigenclean_lab.bench.train_data import SETTINGS, TrainingSetting

FILE = "bench_train.json"
FIGURES = ("last", "best", "f", "kept", "noise_rate", "seconds")  # what a cell measures
_TRAINING = ("train/*.py", "train/steps/*.py", "train/selectors/*.py", "losses/base.py", "losses/targets.py")
_NETWORKS = ("nets/base.py", "nets/pooled.py", "nets/shapes.py")
_MEASURING = ("noise/*.py", "experiments/watch.py", "experiments/benchmarks/train_data.py")
_JUDGING = ("detect/**/*.py", "mixture.py", "moments.py")
# Changes nothing about what is learned: files, names, and recipes, whose values are in the fingerprint themselves.
_BESIDE = (
    "train/__init__.py",
    "train/checkpoint.py",
    "train/keeping.py",
    "train/presets.py",
    "train/saving.py",
    "train/settings.py",
    "train/state.py",
    "train/tensorboard.py",
)


@dataclass(frozen=True)
class Cell:
    """One recipe in one setting with one seed.

    Attributes:
        recipe: its name.
        setting: name in `SETTINGS`.
        seed: of the test rows, the noise, the weights and the order of the samples.
        schedule: of the learning rate.
        key: fingerprint of what was run: recipe, data, noise, code. Another key is another result.
        status: "measured"; "missing" when data or a library is not there; "failed" for any other error.
        note: the reason, when it was not measured.
        figures: the measurements by name (`FIGURES`); empty unless measured.
        version: of eigenclean.
        date: day of the run.
    """

    recipe: str
    setting: str
    seed: int
    schedule: str
    key: str
    status: Status
    note: str
    figures: Mapping[str, float]
    version: str = __version__
    date: str = ""

    @property
    def place(self) -> tuple[str, str, int, str]:
        """Recipe, setting, seed and schedule."""
        return self.recipe, self.setting, self.seed, self.schedule


def fingerprint(recipe: Recipe, setting: TrainingSetting, seed: int, samples: int) -> str:
    """What the result of a cell depends on, as a short hash: the recipe as a value, data, noise, seed, code."""
    losses = {LOSSES[stage.loss.name][0] for stage in recipe.stages}
    code = [*_TRAINING, *_NETWORKS, *_MEASURING, *map(_file, [*losses, NETS[setting.net][0]])]
    if any(stage.select.needs for stage in recipe.stages):
        code += _JUDGING
    used = code_hash(*sorted(code), beside=_BESIDE)
    facts = [recipe.to_dict(), repr(setting), setting.net, seed, samples, FIGURES, used]
    return short_hash(json.dumps(facts, sort_keys=True))


def read_cells(path: Path) -> list[Cell]:
    """The cells of an earlier run; none if there is no file."""
    return cells.read_cells(path, Cell, by="bench train")


def write_cells(path: Path, found: Sequence[Cell], machine: Mapping[str, Any]) -> None:
    """Write the file anew, whole."""
    cells.write_cells(path, found, SETTINGS, machine)


def measured(found: Iterable[Cell]) -> list[Cell]:
    """Those that have figures."""
    return [cell for cell in found if cell.status == "measured"]


def _file(module: str) -> str:
    return module.removeprefix("eigenclean.").replace(".", "/") + ".py"
