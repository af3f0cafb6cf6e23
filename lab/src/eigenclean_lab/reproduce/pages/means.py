"""Means of the rows of a table over its settings, by data: which method to use, in one glance."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from eigenclean_lab.reproduce.compare import Table
from eigenclean_lab.reproduce.profile import Profile
from eigenclean_lab.reproduce.recipes import PROBE
from eigenclean_lab.reproduce.values import Column, Metric

Means = dict[str, list[float]]  # by row, a mean for each metric
OWN_INPUTS = "†"  # marks a row whose inputs are others than those of the rest
Uneven = Mapping[tuple[str, str], Collection[str]]  # by profile and data, the rows that have inputs of their own


def means_by_data(table: Table) -> dict[str, tuple[int, Means]]:
    """By data, how many settings have numbers in every row, and the means of the main metrics over them.

    Settings and seeds in which a row is missing count for no row, so that all means are over the same.
    """
    rows, metrics = [row.name for row in table.experiment.rows], table.experiment.main_metrics
    by_data: dict[str, list[list[list[float]]]] = {}  # by data, setting, metric and row
    for column in table.experiment.columns:
        paired = [table.paired(rows, column.name, metric.key) for metric in metrics]
        known = [values for values in paired if values is not None]
        if len(known) == len(metrics):
            by_data.setdefault(data_of(column), []).append(known)
    return {
        data: (len(settings), dict(zip(rows, np.mean(settings, axis=0).T.tolist(), strict=True)))
        for data, settings in by_data.items()
    }


def data_of(column: Column) -> str:
    """The data of a setting, as the names of columns begin.

    >>> data_of(Column("C10 S50", "cifar10", "symmetric:0.5"))
    'C10'
    """
    return column.name.split()[0]


def means_table(tables: Mapping[str, Table], uneven: Uneven | None = None) -> list[str]:
    """Lines of Markdown: a row for each method, a column for each profile and data; the highest are bold.

    A cell has the main metrics, with a slash between. Rows that are ``uneven`` have other inputs there than the
    rest: they get a dagger, and the highest is sought among the others.
    """
    columns = [
        (
            f"`{profile}` {data} ({count})",
            means,
            table.experiment.main_metrics,
            (uneven or {}).get((profile, data), ()),
        )
        for profile, table in tables.items()
        for data, (count, means) in means_by_data(table).items()
    ]
    if not columns:
        return []
    rows = [row.name for row in next(iter(tables.values())).experiment.rows]
    body = [
        f"| {row} | "
        + " | ".join(highest_marked(means, row, metrics, others) for _, means, metrics, others in columns)
        + " |"
        for row in rows
    ]
    head = " | ".join(name for name, *_ in columns)
    return [f"| | {head} |", "|---" * (len(columns) + 1) + "|", *body, ""]


def highest_marked(
    by_row: Mapping[str, Sequence[float]], row: str, metrics: Sequence[Metric], uneven: Collection[str] = ()
) -> str:
    """The numbers of a row, with slashes between; those that are the highest of all comparable rows are bold.

    >>> from eigenclean_lab.reproduce.columns import BEST, LAST
    >>> highest_marked({"fine": [60.7, 61.1], "judge": [65.0, 60.8]}, "fine", (BEST, LAST))
    '60.7 / **61.1**'
    """
    texts = []
    for number, metric in enumerate(metrics):
        compared = [values[number] for name, values in by_row.items() if name not in uneven]
        text, highest = (
            f"{value:.{metric.digits}f}" for value in (by_row[row][number], max(compared, default=-1.0))
        )
        texts.append(f"**{text}**" if row not in uneven and text == highest else text)
    return " / ".join(texts) + (f" {OWN_INPUTS}" if row in uneven else "")


def rows_with_own_inputs(profile: Profile, column: Column) -> tuple[str, ...]:
    """Rows that learn from other inputs than the rest: the probe, where the profile has features for it alone."""
    has_features = profile.has("train", column.data) and profile.data("train", column.data).vectors is not None
    return (PROBE,) if has_features else ()
