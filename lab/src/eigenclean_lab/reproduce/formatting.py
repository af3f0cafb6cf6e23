"""Tables as text: the same lines for the console, the page and the documentation."""

from collections.abc import Iterator

from eigenclean_lab.reproduce.compare import Entry, Table
from eigenclean_lab.reproduce.rankings import Gap, gaps
from eigenclean_lab.reproduce.values import Number, Shown

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


def differences(table: Table) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """For every main figure a table of who leads whom by how much: title, settings, and rows, cell by cell."""
    for shown in table.experiment.main_figures:
        found = {pair: gaps(table, *pair, shown) for pair in table.experiment.orders}
        columns = [one.name for one in table.experiment.columns if any(one.name in own for own in found.values())]
        rows = [
            [f"{better} − {other}", *(lead(own[name], shown) if name in own else NOTHING for name in columns)]
            for (better, other), own in found.items()
            if own
        ]
        if rows:
            yield f"{shown.title}, difference", columns, rows


def lead(gap: Gap, shown: Shown) -> str:
    """By how much one row is better than another, with the paper's difference behind it.

    >>> lead(Gap(4.04, 0.12, 3.5), Shown("train.best", "accuracy", 100.0, 1))
    '+4.0 ± 0.1 (+3.5)'
    """
    spread = "" if gap.deviation is None else f" ± {gap.deviation:.{shown.digits}f}"
    paper = "" if gap.paper is None else f" ({gap.paper:+.{shown.digits}f})"
    return f"{gap.mean:+.{shown.digits}f}{spread}{paper}"


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
