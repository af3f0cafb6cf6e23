"""`eigenclean bench decisions`: what decisions of people teach the judge."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, print_json, table, working
from eigenclean_lab.cli.options import Data, Page
from eigenclean_lab.formatting import decimals


def bench_decisions(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_decisions.json.")] = Path("results"),
    data: Data = None,
    samples: Annotated[int, typer.Option(help="Images of CIFAR-10.")] = 4000,
    seeds: Annotated[int, typer.Option(help="How often rows, errors and decisions are drawn.")] = 3,
    resume: Annotated[bool, typer.Option("--resume", help="Keep what bench_decisions.json has already.")] = False,
    page: Page = None,
    json: o.Json = False,
) -> None:
    """Noise rate, calibration and flags after 50, 200 and 500 decisions of a reviewer who is always right.

    Half of them are about the worst suspects, half about rows at random. Then 100 decisions in each order of
    `eigenclean review`: errors found, and what they teach. Labels of people, errors at boundaries, labels by
    keywords and clean labels; about ten minutes for each seed.
    """
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.decisions.run import FILE, MeasuredDecisions, facts, load, run
    from eigenclean_lab.data_folder import data_folder

    make_folder(out)
    measured = load(out / FILE) if resume else MeasuredDecisions([], [])
    with working():
        for result in run(data_folder(data), samples, seeds=seeds, measured=measured):
            measured = result
            write_json(out / FILE, facts(measured))
    if page is not None:
        from eigenclean_lab.bench.decisions.page import write_tables

        write_tables(page, facts(measured))
    if json:
        print_json(facts(measured))
        return
    output = table(
        None, "setting", "seed", "decisions", "noise", "estimated", "ECE", "F1", "F1 without", "false flags"
    )
    for step in measured.steps:
        numbers = (step.noise_rate, step.estimated, step.calibration_error, step.f, step.f_before, step.false_flags)
        output.add_row(step.setting, str(step.seed), str(step.n_decisions), *map(decimals, numbers))
    console.print(output)
    names = ("errors found", "bits per decision", "noise error", "without", "F1", "without")
    output = table(None, "setting", "seed", "order", "decisions", *names)
    for row in measured.orders:
        teaching = (row.noise_error, row.noise_error_before, row.f, row.f_before)
        figures = (row.errors_found, row.uncertainty_removed, *teaching)
        output.add_row(row.setting, str(row.seed), row.order, str(row.n_decisions), *map(decimals, figures))
    console.print(output)
