"""Numbers and tables of the benchmarks as text, the same on pages, in figures and on the console."""

from collections.abc import Sequence
from pathlib import Path

from eigenclean.errors import InvalidOption
from eigenclean.files import write_text


def decimals(value: float | None) -> str:
    """A number between 0 and 1 with three digits after the point.

    >>> decimals(0.98765), decimals(1.0), decimals(None)
    ('.988', '1.000', '–')
    """
    return "–" if value is None else f"{value:.3f}".removeprefix("0")


def percent(value: float | None) -> str:
    """A share in percent.

    >>> percent(0.0014), percent(None)
    ('0.1 %', '–')
    """
    return "–" if value is None else f"{100 * value:.1f} %"


def markdown_table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown; none when it has no rows.

    >>> markdown_table(["a", "b"], [["1", "2"]])
    ['| a | b |', '| --- | --- |', '| 1 | 2 |']
    """
    rows: list[Sequence[str]] = [heads, ["---"] * len(heads), *lines]
    return [f"| {' | '.join(row)} |" for row in rows] if lines else []


def write_between_marks(page: Path, name: str, tables: str) -> None:
    """Replace what is between ``<!-- name -->`` and ``<!-- end of name -->``."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    text = page.read_text(encoding="utf-8")
    before, first, rest = text.partition(start)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise InvalidOption(f"{page} has no place for the tables, from {start} to {end}")
    write_text(page, f"{before}{start}\n{tables}\n{end}{after}")
