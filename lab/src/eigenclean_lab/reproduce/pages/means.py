"""Means of the rows of a table over its settings, by data: which method to use, in one glance."""

from collections.abc import Mapping, Sequence

from eigenclean_lab.reproduce.compare import Table
from eigenclean_lab.reproduce.values import Metric

Means = dict[str, list[float]]  # by row, a mean for each metric


def means_by_data(table: Table, metrics: Sequence[Metric]) -> dict[str, tuple[int, Means]]:
    """By data, how many settings have numbers in every row, and the means over them.

    Settings in which a row is missing count for no row, so that all means are over the same settings.
    """
    by_data: dict[str, list[str]] = {}
    rows = [row.name for row in table.experiment.rows]
    for column in table.experiment.columns:
        if all(table.value(row, column.name, metric.key) is not None for row in rows for metric in metrics):
            by_data.setdefault(column.name.split()[0], []).append(column.name)
    return {
        data: (len(names), {row: [_mean(table, row, names, metric) for metric in metrics] for row in rows})
        for data, names in by_data.items()
    }


def means_table(tables: Mapping[str, Table], metrics: Sequence[Metric]) -> list[str]:
    """Lines of Markdown: a row for each method, a column for each profile and data; the highest are bold.

    Metrics of a cell are behind one another, with a slash between.
    """
    columns = [
        (f"`{profile}` {data} ({count})", means)
        for profile, table in tables.items()
        for data, (count, means) in means_by_data(table, metrics).items()
    ]
    if not columns:
        return []
    rows = [row.name for row in next(iter(tables.values())).experiment.rows]
    body = [f"| {row} | " + " | ".join(_cell(means, row, metrics) for _, means in columns) + " |" for row in rows]
    return ["| | " + " | ".join(name for name, _ in columns) + " |", "|---" * (len(columns) + 1) + "|", *body, ""]


def _mean(table: Table, row: str, columns: Sequence[str], metric: Metric) -> float:
    values = [table.value(row, column, metric.key) for column in columns]
    return sum(value for value in values if value is not None) / len(columns)


def _cell(means: Means, row: str, metrics: Sequence[Metric]) -> str:
    texts = []
    for number, metric in enumerate(metrics):
        highest = max(values[number] for values in means.values())
        text = f"{means[row][number]:.{metric.digits}f}"
        texts.append(f"**{text}**" if means[row][number] == highest else text)
    return " / ".join(texts)
