"""A table of an experiment in few lines: a row for each method, a column for each setting."""

from collections.abc import Collection, Sequence

from eigenclean_lab.reproduce.compare import Table
from eigenclean_lab.reproduce.pages.deviations import differences_by_deviation
from eigenclean_lab.reproduce.pages.formatting import NOTHING
from eigenclean_lab.reproduce.pages.means import highest_marked, row_name
from eigenclean_lab.reproduce.rows import KNOW_RATE
from eigenclean_lab.reproduce.values import Column, Metric

_SAME = 0.01  # differences of F below it are none
_MARKED = "Rows with † are told the noise rate, and do not compete."
_ENDS = ("rounds.epoch_1", "rounds.last")


def overview(table: Table) -> list[str]:
    """Lines of Markdown, with a sentence that says what they show; none where the whole table is short already."""
    experiment = table.experiment
    if experiment.name == "discrepancies":
        lines = differences_by_deviation(table)
        return (
            [
                "Accuracy, and after the slash F of the kept: differences to the row named, with the same seed.",
                "",
                *lines,
            ]
            if lines
            else []
        )
    if experiment.name == "rounds":
        lines = first_to_last(table)
        return ["After the first and after the last epoch:", "", *lines] if lines else []
    if not experiment.rankings or len(experiment.columns) < 2:
        return []
    return _methods_by_setting(table)


def first_to_last(rounds: Table) -> list[str]:
    """What each method keeps at the beginning and at the end, in the settings in which all rows were measured."""
    columns = [
        column.name
        for column in rounds.experiment.columns
        if all(rounds.value(row.name, column.name, _ENDS[0]) is not None for row in rounds.experiment.rows)
    ]
    body = [
        f"| {row.name} | "
        + " | ".join(" → ".join(f"{rounds.value(row.name, name, end):.3f}" for end in _ENDS) for name in columns)
        + " |"
        for row in rounds.experiment.rows
    ]
    return ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|", *body, ""] if columns else []


def ends_in_words(rounds: Table) -> list[str]:
    """Sentences about the last epoch: where FINE is the better choice, and where keeping all labels is."""
    ends: dict[str, dict[str, float]] = {}
    for column in rounds.experiment.columns:
        last = {row.name: rounds.value(row.name, column.name, _ENDS[1]) for row in rounds.experiment.rows}
        known = {row: value for row, value in last.items() if value is not None}
        if len(known) == len(last):
            ends[column.name] = known
    if not ends:
        return []
    above = [name for name, f in ends.items() if f["fine"] > max(f["keep all"], f["small-loss"])]
    below = [name for name, f in ends.items() if f["fine"] < f["keep all"]]
    everything = [name for name, f in ends.items() if abs(f["judge"] - f["keep all"]) < _SAME]
    return [
        "* In the last epoch F of FINE is above that of the small loss and of keeping all labels in "
        f"{_listed(above, ends)}, and below that of keeping all in {_listed(below, ends)}.",
        "* The judge, not told that the network was trained on these labels, keeps nearly all of them in the end "
        f"({_listed(everything, ends)}): tell it (*in sample*), or judge features that have not seen the labels.",
        "",
    ]


def _listed(names: Sequence[str], of: Collection[str]) -> str:
    """Some of the settings as text.

    >>> _listed(["C10 S50", "C10 S80"], ["C10 S50", "C10 S80", "C10 A40"]), _listed(["C10 S50"], ["C10 S50"])
    ('C10 S50, C10 S80', 'every setting')
    """
    if len(names) == len(of):
        return "every setting"
    return ", ".join(names) or "no setting"


def _methods_by_setting(table: Table) -> list[str]:
    metrics = table.experiment.main_metrics
    by_column = {column.name: _texts(table, column, metrics) for column in table.experiment.columns}
    measured = {name: texts for name, texts in by_column.items() if texts}
    if not measured:
        return []
    rows = [row.name for row in table.experiment.rows if any(row.name in texts for texts in measured.values())]
    body = [
        f"| {row_name(row)} | " + " | ".join(texts.get(row, NOTHING) for texts in measured.values()) + " |"
        for row in rows
    ]
    first, *others = (metric.title for metric in metrics)
    title = f"{first[0].upper()}{first[1:]}" + "".join(f", after the slash {other}" for other in others)
    marked = f" {_MARKED}" if set(rows) & set(KNOW_RATE) else ""
    return [
        f"{title}: means over the seeds that all rows of a setting have. The highest are bold.{marked}",
        "",
        f"| | {' | '.join(measured)} |",
        "|---" * (len(measured) + 1) + "|",
        *body,
        "",
    ]


def _texts(table: Table, column: Column, metrics: Sequence[Metric]) -> dict[str, str]:
    """By row, its numbers in a setting; rows that were not measured are left out."""
    rows = [
        row.name
        for row in table.experiment.rows
        if all(table.value(row.name, column.name, metric.key) is not None for metric in metrics)
    ]
    paired = [table.paired(rows, column.name, metric.key) for metric in metrics]
    values = [of_metric for of_metric in paired if of_metric is not None]
    if len(values) < len(metrics):  # nothing was measured, or no seed in all rows
        return {}
    by_row = dict(zip(rows, zip(*values, strict=True), strict=True))
    return {row: highest_marked(by_row, row, metrics) for row in rows}
