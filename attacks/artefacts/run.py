"""Cases with hostile artefacts: each spoils a valid input, runs commands on it, and sees what they touched."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from attacks.artefacts import code, paths
from attacks.artefacts.code import Attack
from attacks.artefacts.hostile import CANARY, MARK, plant_outside
from attacks.artefacts.watch import Watch
from attacks.children import in_child_or_fail
from attacks.commands import Action, broken_promises, changes, execute, snapshot
from attacks.fuzz.run import rebase
from attacks.fuzz.targets import TARGETS
from attacks.record import Case
from attacks.seeds import write_image_run

FAMILIES: dict[str, Callable[[], Iterator[Attack]]] = {
    "encoders": code.encoders,
    "models": code.models,
    "moments": code.moments,
    "pickles": code.pickles,
    "patches": paths.patches,
    "moves": paths.moves,
    "lists": paths.lists,
    "links": paths.links,
    "publications": paths.publications,
    "databases": paths.databases,
}


def prepare(root: Path, names: set[str]) -> None:
    """Write the valid inputs that the attacks of these families spoil."""
    builders = {target.name: target.build for target in TARGETS} | {"image-run": write_image_run}
    inputs = {valid for family in names for _, valid, _ in FAMILIES[family]()}
    for name in sorted(inputs):
        (root / name).mkdir(parents=True)
        in_child_or_fail(partial(builders[name], root / name), f"artefacts: valid input {name}")


def cases(root: Path, scale: float, seed: int = 0) -> list[Case]:
    """Every attack, or every n-th of each family."""
    step = max(1, round(1 / scale))
    return [
        Case(f"artefacts/{family}/{number}", ArtefactCase(root, *attack))
        for family, attacks in FAMILIES.items()
        for number, attack in enumerate(attacks())
        if number % step == 0
    ]


@dataclass(frozen=True)
class ArtefactCase:
    """One hostile artefact."""

    root: Path
    name: str
    valid: str
    spoil: Callable[[Path], list[Action]]

    def __call__(self) -> Sequence[str]:
        """Plant it and run the commands: no code, nothing outside, one sentence if it is refused."""
        with tempfile.TemporaryDirectory(prefix="artefact-") as folder:
            root = Path(folder).resolve()
            work = root / "work"
            shutil.copytree(self.root / self.valid, work, symlinks=True)
            rebase(self.root / self.valid, work)
            plant_outside(root)
            actions = self.spoil(work)
            before = snapshot(root / "outside")
            broken: list[str] = []
            os.chdir(work)
            for action in actions:
                broken += _carried_out(action, root)
            os.chdir("/")
            changed = changes(before, snapshot(root / "outside"))
            if changed:
                broken.append(f"outside/{changed[0]} was changed")
            if (root / MARK).exists():
                broken.append(f"code was executed: {(root / MARK).read_text(encoding='utf-8')}")
            leaked = _leaks(work)
            if leaked:
                broken.append(f"{leaked[0]} holds the content of a file outside")
        return [f"{self.name}: {sentence}".replace(str(root), "DIR") for sentence in broken]


def _carried_out(action: Action, root: Path) -> Iterator[str]:
    names_code = not callable(action) and any("nets.py" in argument for argument in action)
    watch = Watch(root, root / "work" / "nets.py" if names_code else None)
    with watch.watching():
        outcome = execute(action)
    yield from broken_promises(outcome, action)
    yield from dict.fromkeys(watch.seen)
    if CANARY in outcome.out + outcome.err:
        yield "the content of a file outside is printed"


def _leaks(work: Path) -> list[str]:
    """Files that hold the secret."""
    return [
        path.name
        for path in work.rglob("*")
        if path.is_file() and not path.is_symlink() and CANARY.encode() in path.read_bytes()
    ]
