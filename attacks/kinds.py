"""The kinds of attacks. A new one is one module with `prepare` and `cases`, and one line here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attacks.children import Limits
from attacks.fuzz import run as fuzz
from attacks.record import Case


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
}
