"""Tables as text: the same lines for the console, the page and the documentation."""

from collections.abc import Iterator

from eigenclean.experiments.reproduce.compare import Entry, Table
from eigenclean.experiments.reproduce.values import Number, Shown

NOTHING = "–"


def header(table: Table) -> list[tuple[str, str]]:
    """Heads of the columns, in two lines: of every figure the paper's number, ours, and the difference, if any."""
    heads = [("", "")]
    for shown in table.experiment.figures:
        first = [(shown.title, "paper")] if _has_paper(table, shown) else []
        heads += [*first, ("", "measured") if first else (shown.title, "")]
        if _has_difference(table, shown):
            heads.append(("", "diff"))
    return [*heads, ("", "seeds")]


def lines(table: Table) -> Iterator[tuple[str, list[list[str]]]]:
    """For every setting its name and its rows, cell by cell."""
    for column in table.experiment.columns:
        rows = []
        for row in table.experiment.rows:
            entries = {shown: table.entries[row.name, column.name, shown.key] for shown in table.experiment.figures}
            cells = [cell for shown, entry in entries.items() for cell in _cells(table, shown, entry)]
            mark = " *" if any(entry.note for entry in entries.values()) else ""
            rows.append([f"{row.name}{mark}", *cells, str(max(entry.seeds for entry in entries.values()))])
        yield column.name, rows


def number(value: Number | None, shown: Shown) -> str:
    """Mean and deviation.

    >>> number(Number(87.04, 0.12), Shown("train.best", "accuracy", 100.0, 1))
    '87.0 ± 0.1'
    """
    if value is None:
        return NOTHING
    mean = f"{value.mean:.{shown.digits}f}"
    return mean if value.deviation is None else f"{mean} ± {value.deviation:.{shown.digits}f}"


def _cells(table: Table, shown: Shown, entry: Entry) -> list[str]:
    found = [number(entry.paper, shown)] if _has_paper(table, shown) else []
    found.append(number(entry.measured, shown))
    if _has_difference(table, shown):
        gap = entry.difference
        found.append(NOTHING if gap is None else f"{gap:+.{shown.digits}f}")
    return found


def _has_paper(table: Table, shown: Shown) -> bool:
    return bool(table.experiment.paper.get(shown.key))


def _has_difference(table: Table, shown: Shown) -> bool:
    paper = shown.comparable and _has_paper(table, shown)
    return paper or any(row.against for row in table.experiment.rows)
