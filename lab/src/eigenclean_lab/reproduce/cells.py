"""What was measured: one JSON line for each cell, with everything that it depends on."""

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from eigenclean.errors import InvalidData
from eigenclean.files import write_text
from eigenclean.version import __version__
from eigenclean_lab.bench.code import code_hash
from eigenclean_lab.reproduce.context import Context, Measured
from eigenclean_lab.reproduce.profiles import Profile
from eigenclean_lab.reproduce.values import Task

Measure = Callable[[Task, int, Context], Measured]
_HERE = "experiments/reproduce/"
_TRAINING = ("train/**/*.py", "nets/*.py", "losses/*.py", "noise/*.py", f"{_HERE}data.py", f"{_HERE}training.py")
_JUDGING = ("detect/**/*.py", "mixture.py", "moments.py")
_LOOKING = (*_TRAINING, f"{_HERE}looking.py", "moments.py", "experiments/analyses/*.py")
_CODE = {  # what the numbers of each kind depend on
    "train": (*_TRAINING, *_JUDGING, f"{_HERE}released.py"),
    "judge": (*_LOOKING, *_JUDGING),
    "shift": _LOOKING,
    "fraction": _LOOKING,
    "plane": _LOOKING,
    "filter": (*_LOOKING, *_JUDGING, f"{_HERE}filtering.py"),
    "theory": tuple(f"experiments/theory/{name}.py" for name in ("theorem?", "run", "*bound*", "gaussian_class")),
}


@dataclass(frozen=True)
class Cell:
    """One task with one seed.

    Attributes:
        task: what was measured, as plain values.
        profile: how large.
        seed: of subset, split, noise, weights and order.
        key: fingerprint of task, seed and everything that the profile says about the data.
        code: fingerprint of the source files that the numbers depend on.
        status: "measured"; "missing" when data, a library or a GPU is not there; "failed" for any other error.
        note: the reason, when it was not measured.
        figures: single numbers by name.
        curves: lists of numbers by name.
        noise_hash: fingerprint of the noisy labels.
        command: what to type to get this cell again.
        version: of eigenclean.
        date: day of the run.
        seconds: how long it took.
    """

    task: Mapping[str, Any]
    profile: str
    seed: int
    key: str
    code: str
    status: Literal["measured", "missing", "failed"]
    note: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Any] = field(default_factory=dict)
    noise_hash: str = ""
    command: str = ""
    version: str = __version__
    date: str = ""
    seconds: float = 0.0


def results_file(folder: Path, profile: Profile) -> Path:
    """Where the cells of a profile are kept."""
    return folder / f"reproduce_{profile.name}.jsonl"


def fingerprint(task: Task, profile: Profile, seed: int) -> str:
    """Equal for cells whose numbers should be equal, as long as the code is."""
    kind = task.part.kind
    data = profile.name if kind == "theory" else asdict(profile.data(kind, task.data))
    if isinstance(data, dict):
        data = {name: value for name, value in data.items() if name not in ("says", "needs")}
    facts = [task.as_dict(), data, seed]
    return blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=8).hexdigest()


def code_of(kind: str) -> str:
    """Fingerprint of the code behind a kind of cell; comments and docstrings do not count."""
    return code_hash(*_CODE[kind])


def command_of(experiment: str, profile: Profile, row: str, column: str, seed: int, as_released: bool) -> str:
    """What to type for one cell alone.

    >>> from eigenclean_lab.reproduce.profiles import SMALL
    >>> command_of("table1", SMALL, "fine", "C10 S20", 0, False)
    "eigenclean reproduce table1 --profile small --rows fine --columns 'C10 S20' --seed 0"
    """
    words = ["eigenclean", "reproduce", experiment, "--profile", profile.name, "--rows", row, "--columns", column]
    return shlex.join([*words, "--seed", str(seed), *(["--as-released"] if as_released else [])])


def read_cells(path: Path) -> dict[str, Cell]:
    """The cells of earlier runs by key; none if there is no file."""
    if not path.is_file():
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        cells = [Cell(**json.loads(line)) for line in lines if line.strip()]
    except (ValueError, TypeError, OSError):
        raise InvalidData(f"{path} is not a file of `eigenclean reproduce`; move it away") from None
    return {cell.key: cell for cell in cells}


def write_cells(path: Path, cells: Iterable[Cell]) -> None:
    """Add these cells to what the file has, one line each in a steady order; the file is replaced whole.

    A cell takes the place of one with the same task and seed, also when the profile has changed in between.
    """
    new = [cell for cell in cells if cell.status == "measured"]
    kept = {(json.dumps(cell.task, sort_keys=True), cell.seed): cell for cell in [*read_cells(path).values(), *new]}
    lines = [json.dumps(asdict(kept[place]), ensure_ascii=False, allow_nan=False) for place in sorted(kept)]
    write_text(path, "".join(f"{line}\n" for line in lines))
