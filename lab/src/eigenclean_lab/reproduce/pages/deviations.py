"""Deviations of the released code on the pages: what they are, and what each changes."""

from eigenclean_lab.reproduce.columns import BEST, F_KEPT
from eigenclean_lab.reproduce.compare import Table
from eigenclean_lab.reproduce.pages.formatting import NOTHING
from eigenclean_lab.reproduce.released_code import DEVIATIONS, NOT_IMPLEMENTED, Deviation
from eigenclean_lab.reproduce.values import Column, Metric

_DIFFERENCES = """## What the released code does differently

The authors' released code deviates from their paper, and the printed text from the code. What each deviation alone
changes in the profile `medium`: test accuracy, and after the slash F of the kept labels, against the same method
without it and with the same seed ([discrepancies](paper/discrepancies.md)).
"""
_LEFT_OUT = """
## Deviations that can be measured

`--as-released` applies those deviations of the released code that concern a recipe; `reproduce discrepancies`
measures each alone. Not among them:
"""
# The subject of each deviation that is left out: its number says nothing to a reader.
_LEFT_OUT_TOPICS = {
    "A.3, 4": "Algorithm 2",
    "A.3, 7": "The threshold ζ",
    "A.3, 8": "Adam in the appendix, SGD in section 4.1",
    "A.3, 11": "Clothing1M",
    "A.3, 12, on CIFAR-100": "F-DivideMix on CIFAR-100",
    "A.3, 13": "1 % of the samples",
    "B.3": "Rounds of F-Coteaching",
    "F": "Validation samples",
}


def difference_table(table: Table) -> list[str]:
    """A section about what each deviation changes; none while nothing is measured."""
    lines = differences_by_deviation(table)
    return [_DIFFERENCES, *lines] if lines else []


def differences_by_deviation(table: Table) -> list[str]:
    """Lines of Markdown: what each deviation changes, setting by setting; none while nothing is measured."""
    columns = table.experiment.columns
    rows = []
    for row in table.experiment.rows:
        name = row.name.rpartition(": ")[2]
        if row.against is not None:
            changes = [_changes(table, row.name, column, DEVIATIONS[name]) for column in columns]
            if any(change != NOTHING for change in changes):
                first = f"`{name}` ({DEVIATIONS[name].family}): {row.note}"
                rows.append(f"| {first} | {row.against} | {' | '.join(changes)} |")
    if not rows:
        return []
    names = " | ".join(column.name for column in columns)
    head = [f"| Deviation | On | {names} |", "|---|---" + "|---" * len(columns) + "|"]
    return [*head, *rows, ""]


def list_of_deviations() -> list[str]:
    """Lines of Markdown: every deviation, and those that are not implemented, with the reason."""
    rows = [
        f"| `{name}` | {deviation.family} | {deviation.description} | {deviation.measured_on} |"
        for name, deviation in DEVIATIONS.items()
    ]
    return [
        "| Deviation | Of | What | Measured on |",
        "|---|---|---|---|",
        *rows,
        _LEFT_OUT,
        *(f"* {_LEFT_OUT_TOPICS[item]}: {reason}." for item, reason in NOT_IMPLEMENTED.items()),
        "",
    ]


def _changes(table: Table, row: str, column: Column, deviation: Deviation) -> str:
    """Differences of accuracy and F; nothing where none were measured or the setting is not concerned."""
    texts = [_change(table, row, column.name, metric) for metric in (BEST, F_KEPT)]
    return " / ".join(texts) if deviation.concerns(column) and NOTHING not in texts else NOTHING


def _change(table: Table, row: str, column: str, metric: Metric) -> str:
    gap = table.entries[row, column, metric.key].difference
    return NOTHING if gap is None else f"{gap:+.{metric.digits}f}"
