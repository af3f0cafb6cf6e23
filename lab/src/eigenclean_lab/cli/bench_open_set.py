"""`eigenclean bench open-set`: how well samples that belong to none of the classes are found."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, print_json, table, working
from eigenclean_lab.cli.options import Data, Page
from eigenclean_lab.formatting import decimals


def bench_open_set(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_open_set.json.")] = Path("results"),
    data: Data = None,
    samples: Annotated[int, typer.Option(help="Images of CIFAR-10.")] = 4000,
    seeds: Annotated[int, typer.Option(help="How often labels at random are drawn.")] = 1,
    resume: Annotated[bool, typer.Option("--resume", help="Keep what bench_open_set.json has already.")] = False,
    page: Page = None,
    json: o.Json = False,
) -> None:
    """Precision and recall of P(none) where some classes are left out; calls where every sample has a class.

    Samples of the classes that are left out are a tenth of the rows, with labels at random; 5 % of the other labels
    are flipped. All 45 pairs of classes of CIFAR-10 are left out in turn: about an hour for each seed.
    """
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.open_set import FILE, Outcome, facts, load, run
    from eigenclean_lab.data_folder import data_folder

    make_folder(out)
    outcomes: list[Outcome] = []
    with working():
        measured = load(out / FILE) if resume else []
        for outcome in run(data_folder(data), samples, seeds=seeds, measured=measured):
            outcomes.append(outcome)
            write_json(out / FILE, facts(outcomes))
    if page is not None:
        from eigenclean_lab.bench.open_set_page import write_tables

        write_tables(page, facts(outcomes))
    if json:
        print_json(facts(outcomes))
        return
    output = table(None, "setting", "no class", "called", "precision", "recall", "AP without", "AP")
    for each in outcomes:
        numbers = (each.none, each.called, each.precision, each.recall)
        cells = [*numbers, each.average_precision_before, each.average_precision]
        output.add_row(each.setting, *map(decimals, cells))
    console.print(output)
