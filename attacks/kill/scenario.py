"""A scenario: a state on the disk, work that changes it, and what must hold when the work is killed."""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from attacks.children import in_child, in_child_or_fail, silence
from attacks.commands import changes, execute, leftovers, snapshot
from attacks.kill.operations import Operations, chosen_operation

PLAN = "plan.json"
KILLS = 40


class Scenario(ABC):
    """Something that is killed; ``kill/NAME`` in the table.

    Every method runs in a forked child of its own, so that none of them finds the libraries of another in use.
    """

    name: str
    kills: int = KILLS

    @abstractmethod
    def build(self, folder: Path) -> None:
        """Write the state before the work."""

    @abstractmethod
    def work(self, folder: Path) -> None:
        """Do what is killed."""

    @abstractmethod
    def check(self, folder: Path, done: Path) -> Iterable[str]:
        """A sentence for each promise that the state breaks; ``done`` is a folder in which the work has ended."""


@dataclass(frozen=True)
class KillCase:
    """One kill of a scenario."""

    scenario: Scenario
    prepared: Path
    number: int
    seed: int

    def __call__(self) -> Sequence[str]:
        """Copy the state, kill the work, check what is there."""
        plan = json.loads((self.prepared / PLAN).read_text(encoding="utf-8"))
        operations, seconds = plan["operations"], plan["seconds"]
        aim = chosen_operation(operations, self.number, self.scenario.kills)
        rng = random.Random(f"{self.seed}/{self.scenario.name}/{self.number}")
        after = None if aim is not None else rng.uniform(0.0, 1.1) * seconds
        when = f"{after:.3f} s" if aim is None else f"operation {aim} of {len(operations)} ({operations[aim - 1]})"
        with tempfile.TemporaryDirectory(prefix="kill-") as parent:
            folder = Path(parent) / "work"
            shutil.copytree(self.prepared / "before", folder, symlinks=True)
            kill_work(self.scenario, folder, aim, after)
            broken = answer(lambda: self.scenario.check(folder, self.prepared / "done"))
        return [f"killed after {when}: {sentence}" for sentence in broken]


def prepare(scenario: Scenario, root: Path) -> None:
    """Write the states before and after the work, and the list of the operations in between."""
    prepared = root / scenario.name
    (prepared / "before").mkdir(parents=True)
    in_child_or_fail(lambda: scenario.build(prepared / "before"), f"{scenario.name}: build")
    shutil.copytree(prepared / "before", prepared / "done", symlinks=True)

    def counted() -> None:
        started = time.monotonic()
        with Operations().watched() as operations:
            scenario.work(prepared / "done")
        plan = {"operations": operations.names, "seconds": time.monotonic() - started}
        (prepared / PLAN).write_text(json.dumps(plan), encoding="utf-8")

    in_child_or_fail(counted, f"{scenario.name}: work")


def kill_work(scenario: Scenario, folder: Path, aim: int | None, after: float | None) -> None:
    """Start the work in a child and kill it, and its children: after an operation, or after some seconds."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            silence()
            with Operations(aim).watched():
                scenario.work(folder)
        finally:
            os._exit(0)
    if after is not None:
        time.sleep(after)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def answer(question: Callable[[], Iterable[str]]) -> list[str]:
    """Ask in a forked child; if it cannot answer, that is a sentence too."""
    with tempfile.TemporaryDirectory(prefix="answer-") as folder:
        file = Path(folder) / "answer.json"

        def ask() -> None:
            file.write_text(json.dumps(list(question())), encoding="utf-8")

        status = in_child(ask)
        if status or not file.exists():
            return [f"the check failed with exit code {os.waitstatus_to_exitcode(status)}"]
        sentences: list[str] = json.loads(file.read_text(encoding="utf-8"))
        return sentences


def run_again(arguments: Sequence[str], folder: Path) -> list[str]:
    """Run a command that must succeed and leave no temporary files in ``folder``."""
    outcome = execute(list(arguments))
    problems = [] if outcome.code == 0 else [f"again: exit code {outcome.code}, {outcome.err.strip()[-300:]}"]
    leftover_files = leftovers(snapshot(folder))
    return problems + ([f"temporary files stay: {', '.join(leftover_files)}"] if leftover_files else [])


def differences(a: Path, b: Path) -> list[str]:
    """Names of files that differ between two folders."""
    return changes(snapshot(a), snapshot(b))
