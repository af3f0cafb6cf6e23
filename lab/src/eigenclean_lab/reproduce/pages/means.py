"""Means of the rows of a table over its settings, by data: which method to use, in one glance."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from eigenclean_lab.reproduce.compare import Table
from eigenclean_lab.reproduce.values import Metric

Means = dict[str, list[float]]  # by row, a mean for each metric


def means_by_data(table: Table, metrics: Sequence[Metric]) -> dict[str, tuple[int, Means]]:
    """By data, how many settings have numbers in every row, and the means over them.

    Settings and seeds in which a row is missing count for no row, so that all means are over the same.
    """
    rows = [row.name for row in table.experiment.rows]
    by_data: dict[str, list[list[list[float]]]] = {}  # by data, setting, metric and row
    for column in table.experiment.columns:
        paired = [table.paired(rows, column.name, metric.key) for metric in metrics]
        known = [values for values in paired if values is not None]
        if len(known) == len(metrics):
            by_data.setdefault(column.name.split()[0], []).append(known)
    return {
        data: (len(settings), dict(zip(rows, np.mean(settings, axis=0).T.tolist(), strict=True)))
        for data, settings in by_data.items()
    }


def means_table(
    tables: Mapping[str, Table], metrics: Sequence[Metric], uneven: Mapping[str, Collection[str]] | None = None
) -> list[str]:
    """Lines of Markdown: a row for each method, a column for each profile and data; the highest are bold.

    Metrics of a cell are behind one another, with a slash between. Rows that are ``uneven`` in a profile have other
    inputs there than the rest: they get a dagger, and the highest is sought among the others.
    """
    columns = [
        (f"`{profile}` {data} ({count})", means, (uneven or {}).get(profile, ()))
        for profile, table in tables.items()
        for data, (count, means) in means_by_data(table, metrics).items()
    ]
    if not columns:
        return []
    rows = [row.name for row in next(iter(tables.values())).experiment.rows]
    body = [f"| {row} | " + " | ".join(_cell(means, row, metrics, others) for _, means, others in columns) + " |"
            for row in rows]  # fmt: skip
    head = " | ".join(name for name, _, _ in columns)
    return [f"| | {head} |", "|---" * (len(columns) + 1) + "|", *body, ""]


def _cell(means: Means, row: str, metrics: Sequence[Metric], uneven: Collection[str]) -> str:
    texts = []
    for number, metric in enumerate(metrics):
        highest = max(values[number] for name, values in means.items() if name not in uneven)
        text = f"{means[row][number]:.{metric.digits}f}"
        texts.append(f"**{text}**" if row not in uneven and means[row][number] == highest else text)
    return " / ".join(texts) + (" †" if row in uneven else "")
