"""Options that several commands of the laboratory share, and how they print ratios and notes."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli.console import console, mention, say, table
from eigenclean.deprecation import renaming_notice

if TYPE_CHECKING:
    from eigenclean_lab.bench.speed.ratios import Ratio

Data = Annotated[Path | None, typer.Option(help="Folder of the data; by default that of EIGENCLEAN_DATA.")]
Device = Annotated[str | None, typer.Option(help="cpu; by default the best there is.")]
Remeasure = Annotated[bool, typer.Option("--remeasure", help="Measure also cells that the file has already.")]
Page = Annotated[
    Path | None, typer.Option(help="Write the tables into this page, between its marks.", show_default=False)
]
Again = Annotated[bool, typer.Option("--again", hidden=True)]


def remeasuring(remeasure: bool, again: bool) -> bool:
    """Whether known cells are measured too; ``--again`` is the old name of ``--remeasure``."""
    if again:
        mention(renaming_notice("--again", "--remeasure"))
    return remeasure or again


def split_names(text: str, known: Iterable[str] = ()) -> list[str]:
    """Names that were given with commas between; the ``known`` ones may have commas in them.

    >>> split_names("fine, knn,")
    ['fine', 'knn']
    >>> split_names("fine,judge, in sample,judge", known=["judge", "judge, in sample"])
    ['fine', 'judge, in sample', 'judge']
    """
    with_commas = sorted((name for name in known if "," in name), key=len, reverse=True)
    pattern = "|".join([*map(re.escape, with_commas), "[^,]+"])
    return [name.strip() for name in re.findall(rf"\s*({pattern})\s*(?:,|$)", text) if name.strip()]


def warn_if_busy(what: str) -> float | None:
    """Processors that others keep busy; more than half a processor is mentioned, as it makes times too long."""
    from eigenclean_lab.bench.speed.timing import busy_processors

    load = busy_processors()
    if load is not None and load > 0.5:
        mention(f"note: others keep {load:g} processors busy; {what}")
    return load


def print_ratios(ratios: "Sequence[Ratio]") -> None:
    """Ratios against their baselines as a table."""
    output = table(None, "case", "against", "ratio", "target", "")
    for ratio in ratios:
        seconds = ""
        if ratio.seconds is not None and ratio.baseline_seconds is not None:
            seconds = f"{ratio.seconds:.3g} s against {ratio.baseline_seconds:.3g} s"
        output.add_row(
            f"{ratio.case}\n  [dim]{ratio.note or seconds}[/dim]",
            ratio.baseline,
            f"{ratio.ratio:.3g}x",
            ratio.target or "",
            outcome(ratio.passed),
        )
    console.print(output)


def print_notes(notes: Iterable[tuple[str, str]]) -> None:
    """Print pairs of a measurement and its note, each note once, with the first measurement that has it."""
    measurements: dict[str, list[str]] = {}
    for measurement, note in notes:
        measurements.setdefault(note, []).append(measurement)
    for note, (first, *others) in measurements.items():
        more = f" and {len(others)} more" if others else ""
        say(f"* {first}{more}: {note}")


def outcome(passed: bool | None) -> str:
    """Whether a target is met, in colour; nothing without a target."""
    return {True: "[green]met[/green]", False: "[red]missed[/red]", None: ""}[passed]
