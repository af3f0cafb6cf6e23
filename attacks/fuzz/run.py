"""Cases of the fuzzer: a number chooses the file, the mutation and the command, so a case can be repeated."""

import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from attacks.children import in_child_or_fail
from attacks.commands import Action, broken_promises, changes, execute, leftovers, snapshot
from attacks.fuzz.folders import FOLDERS, pipe_for_file
from attacks.fuzz.mutations import BYTES
from attacks.fuzz.targets import TARGETS, Target
from attacks.record import Case
from eigenclean.verdict import Verdict

CASES = 1600  # of the full attack
FOLDER_SHARE = 0.2  # of the cases of a target that has a folder


def build_seeds(root: Path, names: set[str]) -> None:
    """Write the valid inputs of these targets into ``root``, in a child: the parent must not compute anything."""
    for target in TARGETS:
        if target.name in names and not (root / target.name).exists():
            in_child_or_fail(partial(_build, target, root), f"fuzz: valid input of {target.name}")


def _build(target: Target, root: Path) -> None:
    folder = root / target.name
    folder.mkdir(parents=True)
    target.build(folder)


def cases(root: Path, scale: float, seed: int = 0) -> list[Case]:
    """``scale`` times `CASES` cases over all targets, shared out by their weights."""
    weight = sum(target.share for target in TARGETS)
    return [
        Case(f"fuzz/{target.name}/{number}", FuzzCase(target, root / target.name, number, seed))
        for target in TARGETS
        for number in range(max(1, round(scale * CASES * target.share / weight)))
    ]


@dataclass(frozen=True)
class FuzzCase:
    """One mutated input and the command that reads it."""

    target: Target
    valid: Path
    number: int
    seed: int

    def __call__(self) -> list[str]:
        """Carry it out in a folder of its own."""
        with tempfile.TemporaryDirectory(prefix="attack-") as folder:
            work = Path(folder) / "work"
            what, action = self.prepare(work)
            broken = list(_judged(action, work))
        return [f"{what}; {_shown(action)}: {sentence}".replace(folder, "DIR") for sentence in broken]

    def prepare(self, work: Path) -> tuple[str, Action]:
        """Write the mutated input to ``work``; return what was done to it, and the command to run."""
        shutil.copytree(self.valid, work, symlinks=True)
        rebase(self.valid, work)
        rng = random.Random(f"{self.seed}/{self.target.name}/{self.number}")
        what = self._mutate(work, rng)
        actions = self.target.actions(work)
        return what, actions[self.number % len(actions)]

    def _mutate(self, work: Path, rng: random.Random) -> str:
        if self.target.folder is not None and rng.random() < FOLDER_SHARE:
            change = rng.choice([way for way in FOLDERS if self.target.pipes or way is not pipe_for_file])
            change(work / self.target.folder, rng)
            return f"{change.__name__} in {self.target.folder}/"
        files = sorted(path for pattern in self.target.files for path in work.glob(pattern) if path.is_file())
        file = rng.choice(files)
        name = file.relative_to(work).as_posix()
        special = next((ways for pattern, ways in self.target.files.items() if fnmatch(name, pattern)), ())
        mutate = rng.choice(special if special and rng.random() < 0.6 else BYTES)
        try:
            file.write_bytes(mutate(file.read_bytes(), rng))
        except Exception:
            mutate = BYTES[self.number % len(BYTES)]  # this mutation makes nothing of this file: take another
            file.write_bytes(mutate(file.read_bytes(), rng))
        return f"{mutate.__name__} of {name}"


def rebase(valid: Path, work: Path) -> None:
    """Records of a run name the folder of its data; they have moved."""
    for path in work.rglob("summary.json"):
        path.write_text(path.read_text(encoding="utf-8").replace(str(valid), str(work)), encoding="utf-8")


def _judged(action: Action, work: Path) -> Iterator[str]:
    before = snapshot(work)
    outcome = execute(action)
    after = snapshot(work)
    yield from broken_promises(outcome, action)
    changed = changes(before, after)
    if outcome.code != 0 and changed:
        yield f"exit code {outcome.code}, but {', '.join(changed[:5])} changed; {outcome.err.strip()[-200:]}"
    new = [name for name in leftovers(after) if name not in before]
    if new:
        yield f"temporary files stay: {', '.join(new)}"
    if outcome.code == 0 and not callable(action) and action[0] == "detect":
        yield from _unreadable(Path(action[action.index("--out") + 1]))


def _unreadable(folder: Path) -> Iterator[str]:
    """What is wrong with a verdict that was just written."""
    try:
        verdict = Verdict.load(folder)
    except Exception as error:
        yield f"the verdict cannot be read again: {error!r}"
        return
    if not len(verdict):
        yield "a verdict without rows"


def _shown(action: Action) -> str:
    return "Python interface" if callable(action) else " ".join(action)
