"""`eigenclean bench`: speed as ratios against a baseline, and quality on real data."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import print_json, working
from eigenclean_lab.cli.bench_annotators import bench_annotators
from eigenclean_lab.cli.bench_bursts import bench_bursts
from eigenclean_lab.cli.bench_decisions import bench_decisions
from eigenclean_lab.cli.bench_embed import bench_embed
from eigenclean_lab.cli.bench_open_set import bench_open_set
from eigenclean_lab.cli.bench_quality import bench_quality
from eigenclean_lab.cli.bench_tables import bench_tables
from eigenclean_lab.cli.bench_train import bench_train
from eigenclean_lab.cli.options import print_ratios, split_names, warn_if_busy
from eigenclean_lab.cli.restamp import restamp

if TYPE_CHECKING:
    from eigenclean_lab.bench.speed.ratios import Ratio

_HELP = "Measure speed, as ratios against a baseline in the same run, and quality, on real data."

bench = typer.Typer(help=_HELP, no_args_is_help=True, add_completion=False)


Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")]
Quick = Annotated[bool, typer.Option("--quick", help="Little data: checks no target, saves nothing.")]


@bench.command("detect")
def bench_detect(out: Out = Path("results"), quick: Quick = False, json: o.Json = False) -> None:
    """How fast FINE is, against one X.T @ X, one read of X, the published code and scikit-learn.

    Takes some minutes, most of them for the published code. Exit code 1 when a target is missed.
    """
    from eigenclean_lab.bench.speed import detection

    sizes = detection.DetectionSizes.quick() if quick else detection.DetectionSizes()
    _measure_ratios(out / detection.FILE, lambda: detection.run(sizes), quick, json)


@bench.command("judge")
def bench_judge(out: Out = Path("results"), quick: Quick = False, json: o.Json = False) -> None:
    """How fast the judge is, against one X.T @ X and cleanlab, and how fast a CSV file of 2 million rows is read.

    Takes about a quarter of an hour, 8 GB of memory and 2 GB of disk. Exit code 1 when a target is missed.
    """
    from eigenclean_lab.bench.speed import judging

    sizes = judging.JudgingSizes.quick() if quick else judging.JudgingSizes()
    _measure_ratios(out / judging.FILE, lambda: judging.run(sizes), quick, json, judging.THREADS)


def _measure_ratios(
    path: Path, run: Callable[[], "list[Ratio]"], quick: bool, json: bool, threads: int = 2
) -> None:
    """Measure, save unless ``quick``, and print; exit code 1 when a target is missed."""
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.speed.ratios import record
    from eigenclean_lab.store import today

    if not quick:
        make_folder(path.parent)  # a folder that cannot be written is better reported now than in some minutes
    load = warn_if_busy("ratios will be less sure")
    with working():
        ratios = run()
    facts = record(ratios, today(), load, threads)
    if not quick:
        write_json(path, facts)
    if json:
        print_json(facts)
    else:
        print_ratios(ratios)
    if not quick and any(ratio.passed is False for ratio in ratios):
        raise typer.Exit(1)


@bench.command("scale")
def bench_scale(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_scale.json.")] = Path("results"),
    folder: Annotated[
        Path | None,
        typer.Option(help="Where 11 GB of data are written meanwhile; by default the system's temporary folder."),
    ] = None,
    cases: Annotated[
        str,
        typer.Option(
            help="Only these, with commas between: engines, equality (400 000 rows), memory, time, growth (1.28 "
            "million rows); the others stay as the file has them."
        ),
    ] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="A hundredth of the data: checks no target, saves nothing.")
    ] = False,
    json: o.Json = False,
) -> None:
    """How data of any size are handled: stream and Dask against memory, and against reading and multiplying.

    Every run is a separate process. Takes about an hour at full size. Exit code 1 when a target is missed.
    """
    from eigenclean.files import make_folder
    from eigenclean_lab.bench.scale.run import GROUPS, ScaleSizes, run, select_groups
    from eigenclean_lab.bench.scale.suite import FILE, ScaleSuite, check_sizes, scale_store

    if not quick:
        make_folder(out)
    load = warn_if_busy("ratios will be less sure")
    sizes = ScaleSizes.quick() if quick else ScaleSizes()
    groups = select_groups(split_names(cases))
    store = scale_store(out / FILE)
    known = [] if quick or len(groups) == len(GROUPS) else store.read()
    check_sizes(known, sizes, store.path)
    with working():
        measurements = run(sizes, folder=folder, groups=groups)
    suite = ScaleSuite(sizes, folder, load)
    cells = [suite.cell(measurement) for measurement in measurements]
    if not quick:
        store.write([*known, *cells])
    ratios = [measurement.ratio for measurement in measurements if measurement.ratio is not None]
    if json:
        print_json({"cells": [cell.to_record() for cell in cells]})
    else:
        print_ratios(ratios)
    if not quick and any(ratio.passed is False for ratio in ratios):
        raise typer.Exit(1)


bench.command("quality")(bench_quality)
bench.command("train")(bench_train)
bench.command("embed")(bench_embed)
bench.command("annotators")(bench_annotators)
bench.command("bursts")(bench_bursts)
bench.command("decisions")(bench_decisions)
bench.command("tables")(bench_tables)
bench.command("open-set")(bench_open_set)
bench.command("restamp")(restamp)
