"""Cases, what they found, and the table of all of them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """One attack.

    Attributes:
        id: kind, target and number, such as ``fuzz/csv/17``; it says everything that is needed to repeat the case.
        attack: carries it out, in a child process, and returns a sentence for each promise that was broken.
    """

    id: str
    attack: Callable[[], Sequence[str]]

    @property
    def kind(self) -> str:
        """Kind and target, the row of the table that the case is counted in."""
        return self.id.rpartition("/")[0]

    @property
    def target(self) -> str:
        """What is attacked."""
        return self.id.split("/")[1]


@dataclass(frozen=True)
class Violation:
    """A case that broke a promise, and how."""

    case: str
    sentence: str


@dataclass
class Tally:
    """How many cases of one kind were tried, and which of them broke a promise."""

    kind: str
    tried: int = 0
    violations: list[Violation] = field(default_factory=list)

    def add(self, case: str, sentences: Iterable[str]) -> None:
        """Count one case and what it broke."""
        self.tried += 1
        self.violations += [Violation(case, sentence) for sentence in sentences]

    @property
    def broken(self) -> int:
        """Cases with at least one violation."""
        return len({violation.case for violation in self.violations})


class Table:
    """The tallies of all kinds, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._tallies: dict[str, Tally] = {}

    def __iter__(self) -> Iterator[Tally]:
        return iter(self._tallies.values())

    def of(self, kind: str) -> Tally:
        """The tally of one kind."""
        return self._tallies.setdefault(kind, Tally(kind))

    @property
    def tried(self) -> int:
        """Cases of all kinds."""
        return sum(tally.tried for tally in self)

    @property
    def violations(self) -> list[Violation]:
        """Everything that was broken."""
        return [violation for tally in self for violation in tally.violations]

    def lines(self) -> list[str]:
        """The table as text: kind, cases tried, cases that broke a promise."""
        rows = [(tally.kind, tally.tried, tally.broken) for tally in self]
        rows.append(("all", self.tried, sum(tally.broken for tally in self)))
        width = max(len(kind) for kind, _, _ in rows)
        head = f"{'kind':<{width}}  {'tried':>6}  {'violations':>10}"
        return [head, *(f"{kind:<{width}}  {tried:>6}  {broken:>10}" for kind, tried, broken in rows)]

    def to_json(self, facts: Mapping[str, Any]) -> str:
        """The table as JSON, with facts about the run."""
        rows = [{"kind": tally.kind, "tried": tally.tried, "violations": tally.broken} for tally in self]
        broken = [asdict(violation) for violation in self.violations]
        record = {**facts, "tried": self.tried, "violations": len(broken), "kinds": rows, "broken": broken}
        return json.dumps(record, indent=2, ensure_ascii=True) + "\n"
