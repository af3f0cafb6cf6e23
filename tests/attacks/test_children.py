"""A child that crashes, hangs, or takes too much is a violation of the case that it was at, and of no other."""

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from attacks.children import Limits, run_cases
from attacks.record import Case, Table

BOUNDS = Limits(memory=1 << 28, cpu=1, wall=60.0, batch=3)


def fine() -> Sequence[str]:
    return []


def crash() -> Sequence[str]:
    os.kill(os.getpid(), signal.SIGUSR1)
    return []


def spin() -> Sequence[str]:
    while True:
        pass


def hang() -> Sequence[str]:
    time.sleep(60)
    return []


def eat() -> Sequence[str]:
    return [str(len(bytearray(1 << 30)))]


@pytest.mark.parametrize(
    ("attack", "sentence"),
    [
        (crash, "killed by SIGUSR1"),
        (spin, "more than 1 CPU seconds"),
        (hang, "no answer for 5 s"),
        (eat, "MemoryError"),
        (partial(os._exit, 7), "exit code 7"),
        (lambda: ["broken"], "broken"),
    ],
)
def test_blame(attack: object, sentence: str) -> None:
    cases = [Case(f"kind/target/{i}", attack if i == 4 else fine) for i in range(7)]  # type: ignore[arg-type]
    bounds = replace(BOUNDS, wall=5.0) if attack is hang else BOUNDS  # others answer by then on a busy machine
    reports = {case.id: sentences for case, sentences in run_cases(cases, bounds, jobs=2)}
    assert len(reports) == 7
    assert [name for name, sentences in reports.items() if sentences] == ["kind/target/4"]
    assert sentence in reports["kind/target/4"][0]


def test_table() -> None:
    table = Table()
    table.of("fuzz/csv").add("fuzz/csv/1", [])
    table.of("fuzz/csv").add("fuzz/csv/2", ["one", "two"])
    table.of("kill/train").add("kill/train/1", [])
    assert [line.split() for line in table.lines()] == [
        ["kind", "tried", "violations"],
        ["fuzz/csv", "2", "1"],
        ["kill/train", "1", "0"],
        ["all", "3", "1"],
    ]
    assert [violation.sentence for violation in table.violations] == ["one", "two"]
