"""`eigenclean bench decisions`: what decisions of people teach the judge."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, print_json, table, working
from eigenclean_lab.cli.options import Data


def bench_decisions(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_decisions.json.")] = Path("results"),
    data: Data = None,
    samples: Annotated[int, typer.Option(help="Images of CIFAR-10.")] = 4000,
    json: o.Json = False,
) -> None:
    """Noise rate, calibration and flags after 50, 200 and 500 decisions of a reviewer who is always right.

    Half of them are about the worst suspects, half about rows at random. Then 100 decisions in each order of
    `eigenclean review`: errors found, and uncertainty removed. Some minutes.
    """
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.decisions import FILE, ORDER_ROWS, facts, folder_of_data, run, run_orders

    make_folder(out)
    with working():
        steps = run(folder_of_data(data), samples)
        orders = run_orders(folder_of_data(data), min(samples, ORDER_ROWS))
    write_json(out / FILE, facts(steps, orders))
    if json:
        print_json(facts(steps, orders))
        return
    shown = table(None, "setting", "decisions", "noise", "estimated", "ECE", "F1", "F1 without", "false flags")
    for step in steps:
        numbers = (step.noise_rate, step.estimated, step.calibration_error, step.f, step.f_before, step.false_flags)
        cells = ["–" if number is None else f"{number:.3f}" for number in numbers]
        shown.add_row(step.setting, str(step.n_decisions), *cells)
    console.print(shown)
    names = ("errors found", "bits per decision", "noise error", "without", "F1", "without")
    shown = table(None, "setting", "order", "decisions", *names)
    for row in orders:
        taught = (row.noise_error, row.noise_error_before, row.f, row.f_before)
        cells = [
            "–" if number is None else f"{number:.3f}"
            for number in (row.errors_found, row.uncertainty_removed, *taught)
        ]
        shown.add_row(row.setting, row.order, str(row.n_decisions), *cells)
    console.print(shown)
