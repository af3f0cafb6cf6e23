"""Numbers and tables of the benchmarks as text, the same on pages, in figures and on the console."""

from collections.abc import Sequence


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
