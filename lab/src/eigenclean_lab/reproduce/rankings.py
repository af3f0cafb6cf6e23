"""Which of two rows is better in each setting, by differences between runs of the same seed."""

from collections.abc import Iterable
from dataclasses import dataclass

from eigenclean_lab.reproduce.compare import Table, over_seeds, values
from eigenclean_lab.reproduce.values import Metric


@dataclass(frozen=True)
class Gap:
    """How much better the first of two rows is.

    Attributes:
        mean: over the seeds that both rows have.
        deviation: over the same; None for one seed.
        paper: the same difference in the paper; None where it has no number for one of them.
    """

    mean: float
    deviation: float | None
    paper: float | None


def gaps(table: Table, better: str, other: str, metric: Metric) -> dict[str, Gap]:
    """By the name of the setting; without those in which a row was not measured."""
    differences_by_setting = {}
    printed = table.experiment.paper.get(metric.key, {})
    for column in (setting.name for setting in table.experiment.columns):
        ours, theirs = (values(table.cells.get((row, column, metric.kind), ()), metric) for row in (better, other))
        differences = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
        if differences:
            pair = [printed[row, column].mean for row in (better, other) if (row, column) in printed]
            measured = over_seeds(differences)
            differences_by_setting[column] = Gap(
                measured.mean, measured.deviation, pair[0] - pair[1] if len(pair) == 2 else None
            )
    return differences_by_setting


def count(outcomes: Iterable[bool]) -> str:
    """The number of true values as text.

    >>> count([True, False, True])
    '2 of 3'
    """
    known = list(outcomes)
    return f"{sum(known)} of {len(known)}"
