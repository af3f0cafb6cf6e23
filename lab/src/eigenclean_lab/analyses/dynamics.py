"""How good the selection is, epoch by epoch (figures 4 and 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eigenclean.errors import InvalidData
from eigenclean.metrics import Record
from eigenclean.names import check_name
from eigenclean_lab.plot_style import CYCLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURES = ("f", "precision", "recall")


@dataclass(frozen=True, eq=False)
class FDynamics(Record):
    """For each run its epochs, and F, precision and recall of the labels selected in each epoch."""

    names: tuple[str, ...]
    epochs: tuple[list[int], ...]
    f: tuple[list[float], ...]
    precision: tuple[list[float], ...]
    recall: tuple[list[float], ...]


def f_dynamics(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> FDynamics:
    """Collect the figures from the records of runs: the lines of their ``metrics.jsonl``, or ``history_``.

    >>> f_dynamics({"fine": [{"epoch": 1, "f": 0.5, "precision": 0.4, "recall": 0.7}]}).f
    ([0.5],)
    """
    if not runs:
        raise InvalidData("f_dynamics: there are no runs; give at least one")
    measured = {name: [record for record in records if "f" in record] for name, records in runs.items()}
    for name, records in measured.items():
        if not records:
            raise InvalidData(
                f"f_dynamics: run {name!r} has no F in its records, because the truth was not known; "
                "train with --noise, so that it is"
            )
    figures = (
        tuple([float(record[key]) for record in records] for records in measured.values()) for key in FIGURES
    )
    epochs = tuple([int(record["epoch"]) for record in records] for records in measured.values())
    return FDynamics(tuple(measured), epochs, *figures)


def plot_f_dynamics(dynamics: FDynamics, axes: "Axes", *, figure: str = "f") -> "Axes":
    """A line for each run; ``figure`` is "f", "precision" or "recall"."""
    check_name(figure, FIGURES, by="plot_f_dynamics", what="figure")
    for i, (name, epochs, values) in enumerate(
        zip(dynamics.names, dynamics.epochs, getattr(dynamics, figure), strict=True)
    ):
        axes.plot(epochs, values, color=CYCLE[i % len(CYCLE)], lw=2, label=name)
    axes.set(xlabel="epoch", ylabel="F" if figure == "f" else figure, ylim=(None, min(1.02, axes.get_ylim()[1])))
    axes.legend()
    return axes
