"""The kinds of attacks. A new one is one module with `prepare` and `cases`, and one line here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attacks.artefacts import run as artefacts
from attacks.children import Limits
from attacks.fuzz import run as fuzz
from attacks.kill import run as kill
from attacks.record import Case
from attacks.server import run as server


@dataclass(frozen=True)
class Kind:
    """A kind of attack.

    Attributes:
        summary: what it does, in a line.
        cases: its cases, given a folder, a scale (1 for the full attack) and a seed.
        prepare: writes what the cases of some targets need into that folder.
        limits: bounds of one case.
        share: of the seconds that were allowed.
    """

    summary: str
    cases: Callable[[Path, float, int], list[Case]]
    prepare: Callable[[Path, set[str]], None]
    limits: Limits
    share: float


KINDS: dict[str, Kind] = {
    "fuzz": Kind("mutated inputs for every reader", fuzz.cases, fuzz.build_seeds, Limits(), 0.4),
    "kill": Kind(
        "kill -9 after every rename and at random times",
        kill.cases,
        kill.prepare_scenarios,
        Limits(memory=8 << 30, cpu=120, wall=180.0, batch=1),
        0.3,
    ),
    "artefacts": Kind(
        "runs, models, patches and folders that name code and paths",
        artefacts.cases,
        artefacts.prepare,
        Limits(),
        0.2,
    ),
    "server": Kind(
        "hostile requests to the review server",
        server.cases,
        server.prepare,
        Limits(memory=8 << 30, cpu=60, wall=180.0, batch=120),
        0.1,
    ),
}
