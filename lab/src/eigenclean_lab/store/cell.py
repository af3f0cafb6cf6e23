"""A cell: one measurement with one seed, and everything needed to trust it or to repeat it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from eigenclean import __version__

Status = Literal["measured", "missing", "failed"]


@dataclass(frozen=True)
class Restamp:
    """Why a cell counts as current although other code has measured it.

    Attributes:
        date: day of the comparison.
        group: the cells that were stamped together.
        group_size: how many they are.
        drawn_from: how many of them could be drawn: quick enough, and with figures other than times.
        drawn: how many were drawn and measured again.
        seed: of the draw.
        worst_difference: largest difference between an old and a new figure, relative to the figure where it is
            above 1.
        tolerance: what was allowed.
        measured_again: whether this cell was one of those drawn.
        previous_code: fingerprint of the code that measured the cell.
        compared_with: "file", or "previous code on this machine" when that code measured the sample as well.
        machine_difference: largest difference between the file and what the previous code measured on this machine.
    """

    date: str
    group: str
    group_size: int
    drawn_from: int
    drawn: int
    seed: int
    worst_difference: float
    tolerance: float
    measured_again: bool
    previous_code: str
    compared_with: str = "file"
    machine_difference: float = 0.0


@dataclass(frozen=True)
class Measured:
    """The result of measuring a cell.

    Attributes:
        figures: single numbers by name; None where a figure is not defined.
        curves: lists of numbers by name.
        facts: other plain values that describe the run, such as a hash of the noisy labels.
    """

    figures: Mapping[str, float | None]
    curves: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """One measurement with one seed.

    Attributes:
        task: what was measured, as plain values; together with the seed it identifies the cell in its file.
        seed: of every random draw.
        key: fingerprint of all options behind the task; another key is another measurement.
        code: fingerprint of the code that the numbers depend on.
        status: "measured"; "missing" when data, a library or a device is absent; "failed" for any other error.
        note: the reason, when it was not measured.
        figures: single numbers by name; empty unless measured.
        curves: lists of numbers by name.
        facts: options and circumstances that do not identify the cell, such as epochs, machine and noise hash.
        command: the command line that measures this cell.
        version: of eigenclean.
        date: day of the run.
        seconds: duration of the measurement.
        restamped: set when `restamp` has confirmed the cell for newer code.
    """

    task: Mapping[str, Any]
    seed: int
    key: str
    code: str
    status: Status
    note: str = ""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    curves: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    version: str = __version__
    date: str = ""
    seconds: float = 0.0
    restamped: Restamp | None = None

    @property
    def identity(self) -> tuple[str, int]:
        """Task and seed: cells of equal identity replace each other in a file.

        >>> Cell({"b": 1, "a": [2]}, 0, "", "", "measured").identity
        ('{"a": [2], "b": 1}', 0)
        """
        return json.dumps(self.task, sort_keys=True), self.seed

    @property
    def is_measured(self) -> bool:
        """Whether the cell has figures."""
        return self.status == "measured"

    def is_current(self, request: "Cell") -> bool:
        """Whether the cell answers the request: it was measured with the same options and the same code."""
        return self.is_measured and (self.key, self.code) == (request.key, request.code)

    def to_record(self) -> dict[str, Any]:
        """The cell as plain values; empty fields are left out.

        >>> Cell({"detector": "fine"}, 0, "k", "c", "missing", "needs data", version="1").to_record()["note"]
        'needs data'
        """
        record = asdict(self)
        optional = ("note", "curves", "facts", "command", "restamped")
        return {name: value for name, value in record.items() if value or name not in optional}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Cell":
        """The cell that `to_record` described."""
        restamped = record.get("restamped")
        return cls(**{**record, "restamped": None if restamped is None else Restamp(**restamped)})


def measured_cells(cells: Iterable[Cell]) -> list[Cell]:
    """The cells that have figures."""
    return [cell for cell in cells if cell.is_measured]
