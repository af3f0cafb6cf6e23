"""`eigenclean bench train`: how well every recipe trains in spite of wrong labels, and how fast."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, print_json, say, table, working

if TYPE_CHECKING:
    from eigenclean_lab.bench.train_cells import Cell
    from eigenclean_lab.bench.train_claims import Finding

_LEGEND = (
    "last, best: test accuracy in the last and in the best epoch, with its deviation over the seeds · "
    "F, kept: of what was learned from in the last epoch, right labels as positive · s: seconds"
)


def bench_train(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_train.json.")] = Path("results"),
    recipes: Annotated[
        str | None, typer.Option(help="Names with commas between, such as standard,fine; all by default.")
    ] = None,
    settings: Annotated[
        str, typer.Option(help="Names or patterns with commas between, such as fashion/*,cifar10/sym-50.")
    ] = "*",
    seeds: Annotated[
        int, typer.Option(help="Runs with other samples, noise and weights; the table shows means.")
    ] = 3,
    schedule: Annotated[
        str,
        typer.Option(
            help="Learning rate, the same for all recipes: preset (down to 0 after the warm-up), "
            "late (down to 0 in the last third), constant, or steps."
        ),
    ] = "preset",
    epochs: Annotated[int | None, typer.Option(help="Epochs of a training, when not the preset's 30.")] = None,
    samples: Annotated[int, typer.Option(help="Samples to learn from at most, and as many to test on.")] = 5_000,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data; by default EIGENCLEAN_DATA, then ../shared/data.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu; by default the best there is.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Measure also what the file has already.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Also draw the accuracies as this .svg file.")] = None,
    speed: Annotated[
        bool, typer.Option("--speed", help="Speed instead, as ratios against bare loops: bench_train_speed.json.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Digits and few epochs, one seed; saves nothing.")] = False,
    json: o.Json = False,
) -> None:
    """How well every recipe trains on wrong labels, on real data whose right labels are known.

    Stopped runs go on where they were: what bench_train.json has, from the same code and options, is not run again.
    What cannot run is marked with what it needs. Exit code 1 when a recipe failed, or with --speed, when a promise
    was not kept.
    """
    if speed:
        _speed(out, quick, json)
        return
    from dataclasses import asdict

    from eigenclean.files import make_folder
    from eigenclean_lab.bench import train
    from eigenclean_lab.bench.quality_data import data_folder
    from eigenclean_lab.bench.train_cells import FILE, read_cells, write_cells
    from eigenclean_lab.bench.train_claims import findings
    from eigenclean_lab.bench.train_data import QUICK

    file, machine = out / FILE, train.machine_facts(device)
    if not quick:
        make_folder(out)
    few = train.QUICK_RECIPES if quick else None
    with working():
        cells = train.run(
            recipes=_names(recipes) if recipes is not None else few,
            settings=QUICK if quick else _names(settings),
            seeds=1 if quick else seeds,
            schedule=schedule,
            epochs=train.QUICK_EPOCHS if quick and epochs is None else epochs,
            samples=samples,
            data=data_folder(data),
            device=device,
            known=[] if quick else read_cells(file),
            again=again,
            save=None if quick else lambda found: write_cells(file, found, machine),
        )
    if plot is not None:
        from eigenclean_lab.bench.train_plot import plot_training

        plot_training(cells, plot)
    found = findings(cells)
    if json:
        claims = [finding.as_dict() for finding in found]
        print_json({"machine": machine, "cells": [asdict(cell) for cell in cells], "claims": claims})
    else:
        _print_cells(cells)
        _print_findings([finding for finding in found if finding.bar is not None])
    if any(cell.status == "failed" for cell in cells):
        raise typer.Exit(1)


def _speed(out: Path, quick: bool, json: bool) -> None:
    from eigenclean.extras import require
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.timing import busy_processors
    from eigenclean_lab.bench.train_speed import FILE, Sizes, facts, run
    from eigenclean_lab.cli.bench import print_ratios

    for library in ("torch", "accelerate"):
        require(library, extra="train", caller="bench train --speed")
    if not quick:
        make_folder(out)
    busy = busy_processors()
    if busy is not None and busy > 0.5:
        mention(f"note: others keep {busy:g} processors busy; ratios will be less sure")
    with working():
        results = run(Sizes.quick() if quick else Sizes())
    found = facts(results, busy)
    if not quick:
        write_json(out / FILE, found)
    if json:
        print_json(found)
    else:
        print_ratios(results)
    if not quick and any(result.passed is False for result in results):
        raise typer.Exit(1)


def _print_cells(cells: "list[Cell]") -> None:
    from eigenclean_lab.bench.train import summary_rows

    rows = summary_rows(cells)
    shown = table(None, "", "last", "best", "F", "kept", "seeds", "s")
    shown.columns[0].no_wrap = True
    for setting in dict.fromkeys(row.setting for row in rows):
        shown.add_row(f"[bold]{setting}[/bold]")
        for row in rows:
            if row.setting == setting:
                accuracies = [
                    _with_deviation(row.mean.get(key), row.deviation.get(key)) for key in ("last", "best")
                ]
                shares = [_share(row.mean.get(key)) for key in ("f", "kept")]
                seconds = f"{row.mean['seconds']:.3g}" if row.seeds else "–"
                mark = " *" if row.note else ""
                shown.add_row(f"  {row.recipe}{mark}", *accuracies, *shares, str(row.seeds), seconds)
    console.print(shown)
    for note in dict.fromkeys(row.note for row in rows if row.note):
        where = [f"{row.recipe} in {row.setting}" for row in rows if row.note == note]
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        say(f"* {where[0]}{more}: {note}")
    say(_LEGEND)


def _print_findings(found: "list[Finding]") -> None:
    """The promises, in points of accuracy."""
    if not found:
        return
    shown = table("last-epoch test accuracy, in points", "", "difference", "must be", "")
    for setting in dict.fromkeys(finding.setting for finding in found):
        shown.add_row(f"[bold]{setting}[/bold]")
        for one in (finding for finding in found if finding.setting == setting):
            spread = "" if one.deviation is None else f" ± {100 * one.deviation:.1f}"
            passed = "[green]kept[/green]" if one.passed else "[red]missed[/red]"
            bar = f">= {100 * (one.bar or 0.0):g}"
            shown.add_row(f"  {one.better} over {one.than}", f"{100 * one.difference:+.1f}{spread}", bar, passed)
    console.print(shown)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".removeprefix("0")


def _with_deviation(mean: float | None, deviation: float | None) -> str:
    return _share(mean) if deviation is None else f"{_share(mean)} ± {_share(deviation)}"
