"""`eigenclean bench annotators`: how right the consensus of several annotators is."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, print_json, say, table, working
from eigenclean_lab.cli.options import Data, Page, outcome


def bench_annotators(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_annotators.json.")] = Path("results"),
    data: Data = None,
    seed: o.Seed = 0,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Only simulate whether intervals of the quality hold it.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Digits only; saves nothing.")] = False,
    page: Page = None,
    json: o.Json = False,
) -> None:
    """How right the consensus of several annotators is: people's labels of CIFAR-10, and simulated crowds.

    Against the majority, labels alone (Dawid and Skene), and CROWDLAB on the same probabilities. Some minutes. Exit
    code 1 when a target is missed. Missing data are marked.
    """
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.annotators.run import FILE, facts, run, write_tables
    from eigenclean_lab.data_folder import data_folder

    if not quick:
        make_folder(out)
    if intervals:
        _measure_intervals(out, quick, json)
        return
    with working():
        measured = run(data_folder(data), seed=seed, quick=quick)
    record = facts(measured)
    if not quick:
        write_json(out / FILE, record)
    if page is not None:
        write_tables(page, record)
    if json:
        print_json(record)
    else:
        names = ("majority", "labels alone", "CROWDLAB", "consensus", "ECE", "quality off by", "target", "")
        output = table(None, "crowd", *names)
        for each in measured:
            numbers = (each.majority, each.labels_alone, each.crowdlab, each.consensus, each.calibration_error)
            cells = ["–" if number is None else f"{number:.4f}" for number in (*numbers, each.quality_error)]
            target = "" if each.target is None else f">= {each.target:g}"
            output.add_row(each.crowd, *cells, target, outcome(each.passed))
        console.print(output)
        for each in measured:
            if each.note:
                say(f"{each.crowd}: {each.note}")
    if not quick and any(each.passed is False for each in measured):
        raise typer.Exit(1)


def _measure_intervals(out: Path, quick: bool, json: bool) -> None:
    from eigenclean.files import write_json
    from eigenclean_lab.bench.annotators.intervals import FILE, facts, run

    with working():
        rows = run(repeats=1 if quick else 5)
    if not quick:
        write_json(out / FILE, facts(rows))
    if json:
        print_json(facts(rows))
        return
    output = table(None, "rows", "errors made together", "intervals", "hold the quality", "bias", "width")
    for each in rows:
        numbers = (each.shared, each.measured, each.coverage, each.bias, each.width)
        output.add_row(str(each.n), *(f"{number:g}" for number in numbers))
    console.print(output)
