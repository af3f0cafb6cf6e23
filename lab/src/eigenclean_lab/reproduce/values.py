"""Tables and figures of the paper as values: rows of methods, columns of settings, and the printed numbers."""

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
class Column:
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
class MethodSpec:
    """A method with its options, which can be measured in any setting.

    Attributes:
        kind: how it is measured: "train", "judge", "shift", "fraction", "plane", "filter" or "theory".
        method: a recipe, a detector or an analysis.
        options: of the method, as pairs.
        emulate: deviations of the released code to reproduce, names from `DEVIATIONS`.
        validated: hold out a tenth of the samples to choose the best epoch, as Table 1 does and Table 2 does not.
    """

    kind: str
    method: str
    options: Options = ()
    emulate: tuple[str, ...] = ()
    validated: bool = True


@dataclass(frozen=True)
class TableRow:
    """A row of a table.

    Attributes:
        name: as printed.
        specs: the methods whose figures stand in the row, side by side.
        against: the row that it differs from in one aspect, if the experiment is about that difference.
        note: a remark for the reader.
    """

    name: str
    specs: tuple[MethodSpec, ...]
    against: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Metric:
    """A figure of the cells that a table shows.

    Attributes:
        key: kind of the method and name of the figure, such as "train.best".
        title: as printed.
        scale: what a measured value is multiplied by, to be in the paper's unit.
        digits: after the point.
        comparable: whether it can be compared with the paper's number; seconds of another machine cannot.
    """

    key: str
    title: str
    scale: float = 1.0
    digits: int = 3
    comparable: bool = True

    @property
    def kind(self) -> str:
        """Kind of the tasks that measure it: the first word of the key."""
        return self.key.partition(".")[0]

    @property
    def figure(self) -> str:
        """Name of the figure in a cell: the rest of the key."""
        return self.key.partition(".")[2]


@dataclass(frozen=True)
class Experiment:
    """A table, figure or theorem.

    Attributes:
        name: what to type, such as "table1".
        title: one line.
        rows: methods.
        columns: settings.
        metrics: the figures shown of each cell.
        paper: the paper's numbers, by metric, then by row and column.
        plot: how it is drawn: "dots", "rates", "curves", "fractions", "planes", "theory".
        rankings: pairs of rows of which the first is expected to be better.
        own_rankings: those among them that the paper does not compare.
        main: how many of the metrics, from the first on, are drawn and decide about rankings.
        notes: sentences below the table.
    """

    name: str
    title: str
    rows: tuple[TableRow, ...]
    columns: tuple[Column, ...]
    metrics: tuple[Metric, ...]
    paper: Mapping[str, Mapping[Place, Number]] = field(default_factory=dict, hash=False)
    plot: Literal["dots", "rates", "curves", "fractions", "planes", "theory"] = "dots"
    rankings: tuple[Place, ...] = ()
    own_rankings: tuple[Place, ...] = ()
    main: int = 1
    notes: tuple[str, ...] = ()

    @property
    def main_metrics(self) -> tuple[Metric, ...]:
        """The metrics that are drawn and decide about rankings; the first is the one that the paper states."""
        return self.metrics[: self.main]


@dataclass(frozen=True)
class Task:
    """A method in a setting, measured once for every seed: tables that contain the same task share its cells."""

    spec: MethodSpec
    data: str
    noise: str

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "kind": self.spec.kind,
            "method": self.spec.method,
            "options": dict(self.spec.options),
            "emulate": list(self.spec.emulate),
            "validated": self.spec.validated,
            "data": self.data,
            "noise": self.noise,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Task":
        """The task that `as_dict` described; other entries of the record are ignored."""
        options = tuple(sorted(record["options"].items()))
        emulate = tuple(record["emulate"])
        spec = MethodSpec(record["kind"], record["method"], options, emulate, record["validated"])
        return cls(spec, record["data"], record["noise"])


def method_spec(kind: str, method: str, *, validated: bool = True, **options: Any) -> MethodSpec:
    """A method with these options.

    >>> method_spec("judge", "fine", threshold=0.4).options
    (('threshold', 0.4),)
    """
    return MethodSpec(kind, method, tuple(sorted(options.items())), validated=validated)
