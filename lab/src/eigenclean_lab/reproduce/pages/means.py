"""Means of the rows of a table over its settings, by data: which method to use, in one glance."""

from collections.abc import Mapping, Sequence

import numpy as np

from eigenclean_lab.reproduce.compare import Table
from eigenclean_lab.reproduce.rows import KNOW_RATE
from eigenclean_lab.reproduce.values import Column, Metric

Means = dict[str, list[float]]  # by row, a mean for each metric


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


def means_table(tables: Mapping[str, Table]) -> list[str]:
    """Lines of Markdown: a row for each method, a column for each profile and data.

    A cell has the main metrics, with a slash between. The highest are bold; rows that are told the noise rate are
    marked and do not compete.
    """
    columns = [
        (f"`{profile}` {data} ({count})", means, table.experiment.main_metrics)
        for profile, table in tables.items()
        for data, (count, means) in means_by_data(table).items()
    ]
    if not columns:
        return []
    rows = [row.name for row in next(iter(tables.values())).experiment.rows]
    body = [
        f"| {row_name(row)} | "
        + " | ".join(highest_marked(means, row, metrics) for _, means, metrics in columns)
        + " |"
        for row in rows
    ]
    head = " | ".join(name for name, *_ in columns)
    return [f"| | {head} |", "|---" * (len(columns) + 1) + "|", *body, ""]


def highest_marked(by_row: Mapping[str, Sequence[float]], row: str, metrics: Sequence[Metric]) -> str:
    """The numbers of a row, with slashes between; those that are the highest of all rows are bold.

    Rows that are told the noise rate do not compete.

    >>> from eigenclean_lab.reproduce.columns import BEST, LAST
    >>> by_row = {"fine": [60.7, 61.1], "judge": [65.0, 60.8], "co-teaching": [66.0, 66.0]}
    >>> [highest_marked(by_row, row, (BEST, LAST)) for row in by_row]
    ['60.7 / **61.1**', '**65.0** / 60.8', '66.0 / 66.0']
    """
    texts = []
    for number, metric in enumerate(metrics):
        printed = {name: f"{values[number]:.{metric.digits}f}" for name, values in by_row.items()}
        best = max((float(text) for name, text in printed.items() if name not in KNOW_RATE), default=None)
        is_best = row not in KNOW_RATE and float(printed[row]) == best
        texts.append(f"**{printed[row]}**" if is_best else printed[row])
    return " / ".join(texts)


def row_name(row: str) -> str:
    """The name of a row, marked if it is told the noise rate.

    >>> row_name("fine"), row_name("co-teaching")
    ('fine', 'co-teaching †')
    """
    return f"{row} †" if row in KNOW_RATE else row
