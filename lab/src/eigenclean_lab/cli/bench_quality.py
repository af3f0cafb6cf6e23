"""`eigenclean bench quality`: how good every detector is, on real data whose right labels are known."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, print_json, say, table, working
from eigenclean_lab.cli.options import Again, Data, Remeasure, print_notes, remeasuring, split_names, warn_if_busy
from eigenclean_lab.formatting import decimals

if TYPE_CHECKING:
    from rich.table import Table

    from eigenclean_lab.store import Cell

_COLUMNS = {  # heads of the columns by figure, narrow enough for 80 characters
    "f": "F",
    "auroc": "AUROC",
    "average_precision": "AP",
    "ece": "ECE",
    "noisy_precision": "prec",
    "noisy_recall": "rec",
    "clean_flagged": "lost",
    "false_flags_at_10": "≤10%",
    "suggestion_accuracy": "sugg",
    "seconds": "s",
}
_MEANS = {
    "auroc": "AUROC",
    "average_precision": "AP",
    "noisy_f1": "F1",
    "ece": "ECE",
    "rate_error": "rate",
    "clean_flagged": "lost",
    "rate_in_interval": "intv",
    "kept_limit": "kept",
    "seconds": "s",
}
_MEANS_LEGEND = (
    "AUROC, AP, F1 of the flags, ECE and rate (estimated against true noise rate): means over settings with wrong "
    "labels · lost: labels flagged where all are right · intv: settings whose interval holds the true rate · "
    "kept: settings with at most .15 false flags under --max-false-flags 0.1, of those with 50 flags · s: sum"
)
_LEGEND = (
    "F with right labels as positive · AP, prec, rec of finding wrong labels · lost: right labels flagged · "
    "≤10%: flags that are wrong when at most .1 of them should be (--max-false-flags 0.1) · "
    "sugg: suggestions that are right, where a wrong label is flagged · s: seconds"
)


def bench_quality(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_quality.json.")] = Path("results"),
    detectors: Annotated[
        str | None,
        typer.Option(help="Names with commas between, such as judge,cleanlab-knn; else the peers."),
    ] = None,
    settings: Annotated[
        str, typer.Option(help="Names or patterns with commas between, such as cifar10/sym-20,digits/sym-20.")
    ] = "*",
    half: Annotated[
        str | None, typer.Option(help="Only development, confirmation or earlier settings; by default all.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Runs with different noise; the table shows means.")] = 3,
    data: Data = None,
    remeasure: Remeasure = False,
    again: Again = False,
    means: Annotated[bool, typer.Option("--means", help="Print means over families, not each setting.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Also draw the table as this .svg file.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Digits only, one seed; saves nothing.")] = False,
    json: o.Json = False,
) -> None:
    """How good every detector is in every setting, on real data whose right labels are known.

    A stopped run resumes: cells that bench_quality.json has, from the same code and options, are not measured
    again. Settings without their data are marked. Exit code 1 when a detector failed.
    """
    from eigenclean.files import make_folder
    from eigenclean_lab.bench.quality.settings import QUICK
    from eigenclean_lab.bench.quality.suite import FILE, quality_store, run
    from eigenclean_lab.data_folder import data_folder

    store = quality_store(out / FILE)
    if not quick:
        make_folder(out)
        warn_if_busy("seconds will be too long")
    with working():
        cells = run(
            detectors=split_names(detectors) if detectors is not None else None,
            settings=QUICK if quick else split_names(settings),
            half=None if quick else half,
            seeds=1 if quick else seeds,
            data=data_folder(data),
            known=[] if quick else store.read(),
            remeasure=remeasuring(remeasure, again),
            save=None if quick else store.add,
        )
    if plot is not None:
        from eigenclean.files import write_text
        from eigenclean_lab.bench.quality.plot import draw_quality

        write_text(plot, draw_quality(cells))
    if json:
        print_json({"cells": [cell.to_record() for cell in cells]})
    else:
        (_print_means if means else _print)(cells)
    if any(cell.status == "failed" for cell in cells):
        raise typer.Exit(1)


def _print(cells: "Sequence[Cell]") -> None:
    from eigenclean_lab.bench.quality.rows import summary_rows

    rows = summary_rows(cells)
    names = {row: f"  {row.detector}{' *' if row.note else ''}" for row in rows}
    width = max(map(len, names.values()), default=0)
    console.print(_figure_table(width))
    for setting in dict.fromkeys(row.setting for row in rows):
        console.print(f"[bold]{setting}[/bold]")  # on a line of its own: a name may be longer than the first column
        output = _figure_table(width)
        output.show_header = False
        for row in rows:
            if row.setting == setting:
                *shares, seconds = (row.figures.get(figure) for figure in _COLUMNS)
                output.add_row(names[row], *map(_share, shares), _seconds(seconds))
        console.print(output)
    print_notes((f"{row.detector} in {row.setting}", row.note) for row in rows if row.note)
    say(_LEGEND)


def _print_means(cells: "Sequence[Cell]") -> None:
    from eigenclean_lab.bench.quality.rows import family_means, summary_rows

    rows = summary_rows(cells)
    averages = family_means(rows)
    output = table(None, "", "n", *_MEANS.values())
    output.columns[0].no_wrap = True
    for half, family in dict.fromkeys((entry.half, entry.family) for entry in averages):
        output.add_row(f"[bold]{half}: {family}[/bold]")
        for entry in averages:
            if (entry.half, entry.family) == (half, family):
                *shares, seconds = (entry.figures[figure] for figure in _MEANS)
                output.add_row(
                    f"  {entry.detector}", str(entry.n_settings), *map(_share, shares), _seconds(seconds)
                )
    console.print(output)
    if missing := [row for row in rows if row.note]:
        say(f"{len(missing)} rows have cells without figures, such as {missing[0].setting}: {missing[0].note}")
    say(_MEANS_LEGEND)


def _figure_table(width: int) -> "Table":
    """An empty table whose columns are equally wide each time, the first one for names."""
    output = table(None, "", *_COLUMNS.values())
    for column, head in zip(output.columns, ("", *_COLUMNS.values()), strict=True):
        column.width, column.no_wrap = (max(4, len(head)) if head else width), True
    return output


def _share(value: float | None) -> str:
    # Four characters, also for 1.00: the table would not fit into 80 otherwise.
    return decimals(value)[:4]


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}".removeprefix("0")
