"""`eigenclean bench train`: how well every recipe trains in spite of wrong labels, and how fast."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, print_json, say, table, working
from eigenclean_lab.cli.options import (
    Again,
    Data,
    Device,
    Remeasure,
    outcome,
    print_notes,
    print_ratios,
    remeasuring,
    split_names,
    warn_if_busy,
)
from eigenclean_lab.formatting import decimals

if TYPE_CHECKING:
    from eigenclean_lab.bench.training.targets import Difference
    from eigenclean_lab.store import Cell

_LEGEND = (
    "last, best: test accuracy in the last and in the best epoch, with its deviation over the seeds · "
    "F, kept: of what was learned from in the last epoch, right labels as positive · s: seconds"
)


def bench_train(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_train.json.")] = Path("results"),
    recipes: Annotated[
        str | None,
        typer.Option(
            help="Names with commas between, such as probe,fine,trees+cleanlearning; all by default: recipes, the "
            "probe, and classifiers of scikit-learn alone, on judged labels and inside cleanlab's CleanLearning."
        ),
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
            "late (down to 0 in the last third), constant, or steps; "
            "or published: optimiser and rates of the authors of each recipe."
        ),
    ] = "preset",
    epochs: Annotated[int | None, typer.Option(help="Epochs of a training, when not the preset's 30.")] = None,
    samples: Annotated[int, typer.Option(help="Samples to learn from at most, and as many to test on.")] = 5_000,
    data: Data = None,
    device: Device = None,
    remeasure: Remeasure = False,
    again: Again = False,
    plot: Annotated[Path | None, typer.Option(help="Also draw the accuracies as this .svg file.")] = None,
    speed: Annotated[
        bool, typer.Option("--speed", help="Speed instead, as ratios against bare loops: bench_train_speed.json.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Digits and few epochs, one seed; saves nothing.")] = False,
    json: o.Json = False,
) -> None:
    """How well every recipe trains on wrong labels, on real data whose right labels are known.

    A stopped run resumes: cells that bench_train.json has, from the same code and options, are not measured again.
    What cannot run is marked with what it needs. Exit code 1 when a recipe failed, or with --speed, when a target
    is missed.
    """
    if speed:
        _speed(out, quick, json)
        return
    from eigenclean.files import make_folder
    from eigenclean_lab.bench.training import suite
    from eigenclean_lab.bench.training.settings import QUICK
    from eigenclean_lab.bench.training.targets import differences
    from eigenclean_lab.data_folder import data_folder

    store = suite.training_store(out / suite.FILE)
    if not quick:
        make_folder(out)
    few = suite.QUICK_RECIPES if quick else None
    with working():
        cells = suite.run(
            recipes=split_names(recipes) if recipes is not None else few,
            settings=QUICK if quick else split_names(settings),
            seeds=1 if quick else seeds,
            schedule=schedule,
            epochs=suite.QUICK_EPOCHS if quick and epochs is None else epochs,
            samples=samples,
            data=data_folder(data),
            device=device,
            known=[] if quick else store.read(),
            remeasure=remeasuring(remeasure, again),
            save=None if quick else store.add,
        )
    if plot is not None:
        from eigenclean.files import write_text
        from eigenclean_lab.bench.training.plot import draw_training

        write_text(plot, draw_training(cells))
    compared = differences(cells)
    if json:
        differing = [difference.as_dict() for difference in compared]
        print_json({"cells": [cell.to_record() for cell in cells], "differences": differing})
    else:
        _print_cells(cells)
        _print_targets([difference for difference in compared if difference.target is not None])
    if any(cell.status == "failed" for cell in cells):
        raise typer.Exit(1)


def _speed(out: Path, quick: bool, json: bool) -> None:
    from eigenclean.extras import require
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.speed.training import FILE, TrainingSizes, facts, run

    for library in ("torch", "accelerate"):
        require(library, extra="train", caller="bench train --speed")
    if not quick:
        make_folder(out)
    load = warn_if_busy("ratios will be less sure")
    with working():
        ratios = run(TrainingSizes.quick() if quick else TrainingSizes())
    record = facts(ratios, load)
    if not quick:
        write_json(out / FILE, record)
    if json:
        print_json(record)
    else:
        print_ratios(ratios)
    if not quick and any(ratio.passed is False for ratio in ratios):
        raise typer.Exit(1)


def _print_cells(cells: "list[Cell]") -> None:
    from eigenclean_lab.bench.training.page import summary_rows

    rows = summary_rows(cells)
    output = table(None, "", "last", "best", "F", "kept", "seeds", "s")
    output.columns[0].no_wrap = True
    for setting in dict.fromkeys(row.setting for row in rows):
        output.add_row(f"[bold]{setting}[/bold]")
        for row in rows:
            if row.setting == setting:
                accuracies = [
                    _with_deviation(row.mean.get(key), row.deviation.get(key)) for key in ("last", "best")
                ]
                shares = [decimals(row.mean.get(key)) for key in ("f", "kept")]
                seconds = f"{row.mean['seconds']:.3g}" if row.seeds else "–"
                mark = " *" if row.note else ""
                output.add_row(f"  {row.recipe}{mark}", *accuracies, *shares, str(row.seeds), seconds)
    console.print(output)
    print_notes((f"{row.recipe} in {row.setting}", row.note) for row in rows if row.note)
    say(_LEGEND)


def _print_targets(differences: "list[Difference]") -> None:
    """The targets and whether they are met, in points of accuracy."""
    if not differences:
        return
    output = table("last-epoch test accuracy, in points", "", "difference", "target", "")
    for setting in dict.fromkeys(difference.setting for difference in differences):
        output.add_row(f"[bold]{setting}[/bold]")
        for row in (difference for difference in differences if difference.setting == setting):
            spread = "" if row.deviation is None else f" ± {100 * row.deviation:.1f}"
            target = f">= {100 * (row.target or 0.0):g}"
            output.add_row(
                f"  {row.better} over {row.than}",
                f"{100 * row.difference:+.1f}{spread}",
                target,
                outcome(row.passed),
            )
    console.print(output)


def _with_deviation(mean: float | None, deviation: float | None) -> str:
    return decimals(mean) if deviation is None else f"{decimals(mean)} ± {decimals(deviation)}"
