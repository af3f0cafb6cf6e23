"""Tables as text: the same lines for the console, the HTML page and the documentation."""

from collections.abc import Iterator

from eigenclean_lab.reproduce.compare import Entry, Gap, Table, gaps
from eigenclean_lab.reproduce.values import Metric, Number

NOTHING = "–"


def header(table: Table) -> list[tuple[str, str]]:
    """Heads of the columns, in two lines: of every figure the paper's number, ours, and the difference, if any."""
    heads = [("", "")]
    for metric in table.experiment.metrics:
        first = [(metric.title, "paper")] if _has_paper(table, metric) else []
        heads += [*first, ("", "measured") if first else (metric.title, "")]
        if _has_difference(table, metric):
            heads.append(("", "diff"))
    return [*heads, ("", "seeds")]


def lines(table: Table) -> Iterator[tuple[str, list[list[str]]]]:
    """For every setting its name and its rows, cell by cell."""
    for column in table.experiment.columns:
        rows = []
        for row in table.experiment.rows:
            entries = {
                metric: table.entries[row.name, column.name, metric.key] for metric in table.experiment.metrics
            }
            cells = [cell for metric, entry in entries.items() for cell in _cells(table, metric, entry)]
            mark = " *" if any(entry.note for entry in entries.values()) else ""
            rows.append([f"{row.name}{mark}", *cells, str(max(entry.seeds for entry in entries.values()))])
        yield column.name, rows


def number(value: Number | None, metric: Metric) -> str:
    """Mean and deviation.

    >>> number(Number(87.04, 0.12), Metric("train.best", "accuracy", 100.0, 1))
    '87.0 ± 0.1'
    """
    if value is None:
        return NOTHING
    mean = f"{value.mean:.{metric.digits}f}"
    return mean if value.deviation is None else f"{mean} ± {value.deviation:.{metric.digits}f}"


def differences(table: Table) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """For every main metric a table of differences between rows: title, settings, and rows, cell by cell."""
    for metric in table.experiment.main_metrics:
        by_pair = {pair: gaps(table, *pair, metric) for pair in table.experiment.rankings}
        names = [column.name for column in table.experiment.columns]
        columns = [name for name in names if any(name in by_setting for by_setting in by_pair.values())]
        rows = [
            [
                f"{better} − {other}",
                *(lead(by_setting[name], metric) if name in by_setting else NOTHING for name in columns),
            ]
            for (better, other), by_setting in by_pair.items()
            if by_setting
        ]
        if rows:
            yield f"{metric.title}, difference", columns, rows


def lead(gap: Gap, metric: Metric) -> str:
    """By how much one row is better than another, with the paper's difference behind it.

    >>> lead(Gap(4.04, 0.12, 3.5), Metric("train.best", "accuracy", 100.0, 1))
    '+4.0 ± 0.1 (+3.5)'
    """
    spread = "" if gap.deviation is None else f" ± {gap.deviation:.{metric.digits}f}"
    paper = "" if gap.paper is None else f" ({gap.paper:+.{metric.digits}f})"
    return f"{gap.mean:+.{metric.digits}f}{spread}{paper}"


def _cells(table: Table, metric: Metric, entry: Entry) -> list[str]:
    texts = [number(entry.paper, metric)] if _has_paper(table, metric) else []
    texts.append(number(entry.measured, metric))
    if _has_difference(table, metric):
        gap = entry.difference
        texts.append(NOTHING if gap is None else f"{gap:+.{metric.digits}f}")
    return texts


def _has_paper(table: Table, metric: Metric) -> bool:
    return bool(table.experiment.paper.get(metric.key))


def _has_difference(table: Table, metric: Metric) -> bool:
    paper = table.is_papers and metric.comparable and _has_paper(table, metric)
    return paper or any(row.against for row in table.experiment.rows)
