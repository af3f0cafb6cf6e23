"""`eigenclean bench bursts`: near copies that share a wrong label."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, print_json, table, working
from eigenclean_lab.cli.options import Data, Page


def bench_bursts(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_bursts.json.")] = Path("results"),
    data: Data = None,
    samples: Annotated[int, typer.Option(help="Images of CIFAR-10.")] = 2000,
    seeds: Annotated[int, typer.Option(help="How often errors and copies are drawn.")] = 3,
    page: Page = None,
    json: o.Json = False,
) -> None:
    """Average precision where a third of the wrong labels stand on seven near copies each.

    The judge with groups of copies, without them, and nearest neighbours. About two minutes.
    """
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.bursts import FILE, facts, run, write_tables
    from eigenclean_lab.data_folder import data_folder

    make_folder(out)
    with working():
        outcomes = run(data_folder(data), samples, seeds=seeds)
    write_json(out / FILE, facts(outcomes))
    if page is not None:
        write_tables(page, facts(outcomes))
    if json:
        print_json(facts(outcomes))
        return
    output = table(None, "data", "method", "seed", "AP without copies", "with copies")
    for each in outcomes:
        output.add_row(each.data, each.method, str(each.seed), f"{each.without:.3f}", f"{each.with_copies:.3f}")
    console.print(output)
