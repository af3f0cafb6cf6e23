"""What a table or a figure is: rows of methods, columns of settings, and the paper's numbers beside them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Options = tuple[tuple[str, Any], ...]
Place = tuple[str, str]  # names of a row and a column


@dataclass(frozen=True)
class Number:
    """A number as printed, with its deviation when there is one."""

    mean: float
    deviation: float | None = None


@dataclass(frozen=True)
class Setting:
    """A column: data and noise, by the paper's names; a profile says what stands in for them.

    Attributes:
        name: as printed.
        data: "cifar10", "cifar100", "clothing1m" or "webvision".
        noise: such as "symmetric:0.5"; "people" for the labels that came with the data.
    """

    name: str
    data: str
    noise: str


@dataclass(frozen=True)
class Part:
    """Something that can be measured in any setting.

    Attributes:
        kind: who measures it, a name from `KINDS`.
        method: a recipe, a detector or an analysis.
        options: of the method, as pairs.
        emulate: habits of the released code, names from `EMULATIONS`.
        validated: set a tenth of the samples apart to choose the best epoch, as Table 1 does and Table 2 does not.
    """

    kind: str
    method: str
    options: Options = ()
    emulate: tuple[str, ...] = ()
    validated: bool = True


@dataclass(frozen=True)
class Line:
    """A row: what is done, in one or more parts, whose figures stand beside each other.

    Attributes:
        name: as printed.
        parts: what is measured.
        against: the row that it differs from in one thing, if the experiment is about that difference.
        note: what a reader must know.
    """

    name: str
    parts: tuple[Part, ...]
    against: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Shown:
    """A figure of the table.

    Attributes:
        key: kind of the part and name of the figure, such as "train.best".
        title: as printed.
        scale: what a measured value is multiplied by, to be in the paper's unit.
        digits: after the point.
        comparable: can it be compared with the paper's number at all? Seconds of another machine cannot.
    """

    key: str
    title: str
    scale: float = 1.0
    digits: int = 3
    comparable: bool = True

    @property
    def kind(self) -> str:
        """Kind of the part."""
        return self.key.partition(".")[0]

    @property
    def figure(self) -> str:
        """Name of the figure."""
        return self.key.partition(".")[2]


@dataclass(frozen=True)
class Experiment:
    """A table, figure or theorem.

    Attributes:
        name: what to type, such as "table1".
        title: one line.
        rows: methods.
        columns: settings.
        figures: what is shown of each cell.
        paper: the paper's numbers, by figure, then by row and column.
        picture: how it is drawn: "dots", "rates", "curves", "fractions", "planes", "theory".
        orders: pairs of rows of which the paper says that the first is better.
        main: how many of the figures, from the first on, say it all: orders are looked at in them, and they are
            drawn.
        notes: sentences below the table.
    """

    name: str
    title: str
    rows: tuple[Line, ...]
    columns: tuple[Setting, ...]
    figures: tuple[Shown, ...]
    paper: Mapping[str, Mapping[Place, Number]] = field(default_factory=dict, hash=False)
    picture: Literal["dots", "rates", "curves", "fractions", "planes", "theory"] = "dots"
    orders: tuple[Place, ...] = ()
    main: int = 1
    notes: tuple[str, ...] = ()

    @property
    def main_figures(self) -> tuple[Shown, ...]:
        """The figures that say it all; the first is the one that the paper speaks of."""
        return self.figures[: self.main]


@dataclass(frozen=True)
class Task:
    """What is measured once for every seed, whoever asks for it: tables that share a task share its cells."""

    part: Part
    data: str
    noise: str

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "kind": self.part.kind,
            "method": self.part.method,
            "options": dict(self.part.options),
            "emulate": list(self.part.emulate),
            "validated": self.part.validated,
            "data": self.data,
            "noise": self.noise,
        }


def part(kind: str, method: str, *, validated: bool = True, **options: Any) -> Part:
    """A part with these options.

    >>> part("judge", "fine", threshold=0.4).options
    (('threshold', 0.4),)
    """
    return Part(kind, method, tuple(sorted(options.items())), validated=validated)
