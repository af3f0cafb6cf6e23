"""`eigenclean bench`: speed, as ratios; quality, on real data."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, messages, print_json, say, table, working
from eigenclean_lab.cli.bench_embed import bench_embed
from eigenclean_lab.cli.bench_train import bench_train

if TYPE_CHECKING:
    from eigenclean_lab.bench.detect import Result
    from eigenclean_lab.bench.quality import Cell

_HELP = "Measure speed, as ratios against a yardstick in the same run, and quality, on real data."

bench = typer.Typer(help=_HELP, no_args_is_help=True)


@bench.callback(help=_HELP)
def _bench() -> None:
    # Without a callback, typer would drop the name of a lone command.
    pass


@bench.command("detect")
def bench_detect(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_detect.json.")] = Path("results"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the data: promises nothing, saves nothing.")
    ] = False,
    json: o.Json = False,
) -> None:
    """How fast FINE is, against one X.T @ X, one read of X, the published way and scikit-learn.

    Takes some minutes, most of them for the published way. Exit code 1 when a promise is not kept.
    """
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.detect import Sizes, record, run
    from eigenclean_lab.bench.timing import busy_processors

    if not quick:
        make_folder(out)  # a place that cannot be written to is better known now than in some minutes
    busy = busy_processors()
    if busy is not None and busy > 0.5:
        messages.print(f"note: others keep {busy:g} processors busy; ratios will be less sure", markup=False)
    with working():
        results = run(Sizes.quick() if quick else Sizes())
    facts = record(results, date=datetime.now(UTC).date().isoformat(), busy=busy)
    if not quick:
        write_json(out / "bench_detect.json", facts)
    if json:
        print_json(facts)
    else:
        print_ratios(results)
    if not quick and any(result.passed is False for result in results):
        raise typer.Exit(1)


@bench.command("quality")
def bench_quality(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_quality.json.")] = Path("results"),
    detectors: Annotated[
        str | None, typer.Option(help="Names with commas between, such as fine,cleanlab-knn; all by default.")
    ] = None,
    settings: Annotated[
        str, typer.Option(help="Names or patterns with commas between, such as cifar10/sym-20,digits/sym-20.")
    ] = "*",
    seeds: Annotated[int, typer.Option(help="Runs with different noise; the table shows means.")] = 3,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the feature files; by default EIGENCLEAN_DATA, then ../shared/data."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure also what the file has already.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Also draw the table as this .svg file.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Digits only, one seed; saves nothing.")] = False,
    json: o.Json = False,
) -> None:
    """How good every detector is in every setting, on real data whose right labels are known.

    Stopped runs go on where they were: what bench_quality.json has, from the same code and options, is not run
    again. Settings without their data are marked. Exit code 1 when a detector failed.
    """
    from dataclasses import asdict

    from eigenclean.files import make_folder
    from eigenclean_lab.bench import quality
    from eigenclean_lab.bench.quality_data import QUICK, data_folder
    from eigenclean_lab.bench.timing import busy_processors

    file = out / quality.FILE
    machine = quality.machine_facts()
    if not quick:
        make_folder(out)
        busy = busy_processors()
        if busy is not None and busy > 0.5:
            messages.print(f"note: others keep {busy:g} processors busy; seconds will be too long", markup=False)
    with working():
        cells = quality.run(
            detectors=_names(detectors) if detectors is not None else None,
            settings=QUICK if quick else _names(settings),
            seeds=1 if quick else seeds,
            data=data_folder(data),
            known=[] if quick else quality.read_cells(file),
            again=again,
            save=None if quick else lambda found: quality.write_cells(file, found, machine),
        )
    if plot is not None:
        from eigenclean_lab.bench.quality_plot import plot_quality

        plot_quality(cells, plot)
    if json:
        print_json({"machine": machine, "cells": [asdict(cell) for cell in cells]})
    else:
        _print_quality(cells)
    if any(cell.status == "failed" for cell in cells):
        raise typer.Exit(1)


_QUALITY = {  # figure: head of its column, narrow enough for 80 characters
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
_LEGEND = (
    "F with right labels as positive · AP, prec, rec of finding wrong labels · lost: right labels flagged · "
    "≤10%: flags that are wrong when at most .1 of them should be (--max-false-flags 0.1) · "
    "sugg: suggestions that are right, where a wrong label is flagged · s: seconds"
)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _print_quality(cells: "list[Cell]") -> None:
    from eigenclean_lab.bench.quality import summary_rows

    rows = summary_rows(cells)
    shown = table(None, "", *_QUALITY.values())
    shown.columns[0].no_wrap = True
    for setting in dict.fromkeys(row.setting for row in rows):
        shown.add_row(f"[bold]{setting}[/bold]")
        for row in rows:
            if row.setting == setting:
                *shares, seconds = (row.figures.get(key) for key in _QUALITY)
                mark = " *" if row.note else ""
                shown.add_row(f"  {row.detector}{mark}", *map(_share, shares), _seconds(seconds))
    console.print(shown)
    for note in dict.fromkeys(row.note for row in rows if row.note):
        where = [f"{row.detector} in {row.setting}" for row in rows if row.note == note]
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        say(f"* {where[0]}{more}: {note}")
    say(_LEGEND)


def _share(value: float | None) -> str:
    # Four characters, 1.00 too: the table would not fit into 80 otherwise.
    return "–" if value is None else f"{value:.3f}".removeprefix("0")[:4]


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}".removeprefix("0")


def print_ratios(results: "list[Result]") -> None:
    """Ratios against yardsticks as a table."""
    shown = table(None, "case", "against", "ratio", "must be", "")
    for result in results:
        seconds = ""
        if result.ours_seconds is not None and result.yardstick_seconds is not None:
            seconds = f"{result.ours_seconds:.3g} s against {result.yardstick_seconds:.3g} s"
        shown.add_row(
            f"{result.case}\n  [dim]{result.note or seconds}[/dim]",
            result.yardstick,
            f"{result.ratio:.3g}x",
            result.must or "",
            {True: "[green]kept[/green]", False: "[red]missed[/red]", None: ""}[result.passed],
        )
    console.print(shown)


@bench.command("scale")
def bench_scale(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_scale.json.")] = Path("results"),
    folder: Annotated[
        Path | None,
        typer.Option(help="Where the data are written meanwhile, 11 GB; by default the system's place."),
    ] = None,
    cases: Annotated[
        str,
        typer.Option(
            help="Only these, with commas between: engines, equality (400 000 rows), memory, time, growth (1.28 "
            "million rows); the others stay as the file has them."
        ),
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="A hundredth of the data: promises nothing, saves nothing.")
    ] = False,
    json: o.Json = False,
) -> None:
    """How data of any size are handled: stream and Dask against memory, and against reading and multiplying.

    Every run is a process of its own. Takes an hour or so at full size. Exit code 1 when a promise is not kept.
    """
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench import scale
    from eigenclean_lab.bench.timing import busy_processors

    if not quick:
        make_folder(out)
    busy = busy_processors()
    if busy is not None and busy > 0.5:
        messages.print(f"note: others keep {busy:g} processors busy; ratios will be less sure", markup=False)
    sizes = scale.Sizes.quick() if quick else scale.Sizes()
    chosen = scale.chosen_cases([name.strip() for name in cases.split(",") if name.strip()])
    file = out / scale.FILE
    before = {} if quick or len(chosen) == len(scale.CASES) else scale.read_record(file, sizes)
    with working():
        outcome = scale.run(sizes, folder=folder, cases=chosen)
    facts = outcome.record(datetime.now(UTC).date().isoformat(), busy, sizes, before)
    if not quick:
        write_json(file, facts)
    if json:
        print_json(facts)
    else:
        print_ratios(outcome.results)
    if not quick and any(result.passed is False for result in outcome.results):
        raise typer.Exit(1)


bench.command("train")(bench_train)
bench.command("embed")(bench_embed)
