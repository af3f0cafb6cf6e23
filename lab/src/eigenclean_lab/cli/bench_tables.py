"""`eigenclean bench tables`: raw tables against features prepared by hand."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, print_json, table, working
from eigenclean_lab.cli.options import Data


def bench_tables(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_tables.json.")] = Path("results"),
    data: Data = None,
    most_rows: Annotated[int, typer.Option(help="Rows that are taken of a larger table.")] = 2000,
    draws: Annotated[
        int | None,
        typer.Option(
            help="Instead, draw errors and useless columns of the smallest tables so often.",
            min=2,
            show_default=False,
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    """How well wrong labels of raw tables are found, and what columns that must not matter change.

    18 real tables with 10 % symmetric noise, each judged about ten times: some twenty minutes.
    """
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.tables import FILE, facts, run
    from eigenclean_lab.data_folder import data_folder

    make_folder(out)
    if draws is not None:
        _small_tables(out, data_folder(data), draws, json=json)
        return
    with working():
        results = run(data_folder(data), most_rows)
    write_json(out / FILE, facts(results))
    if json:
        print_json(facts(results))
        return
    output = table(None, "table", "rows", "raw file", "by hand", "flagged when clean", "largest change")
    for result in results:
        change = max(result.changes.items(), key=lambda item: abs(item[1]))
        numbers = f"{result.auroc:.3f}", f"{result.by_hand:.3f}", f"{result.flagged_when_clean:.1%}"
        output.add_row(result.table, str(result.n_rows), *numbers, f"{change[1]:+.3f} ({change[0]})")
    console.print(output)


def _small_tables(out: Path, folder: Path | None, draws: int, *, json: bool) -> None:
    from eigenclean.cli.console import say
    from eigenclean.files import write_json
    from eigenclean_lab.bench import table_draws

    measured: list[table_draws.Draws] = []
    with working():
        for each in table_draws.run(folder, draws):
            measured.append(each)
            write_json(out / table_draws.FILE, table_draws.facts(measured))
    if json:
        print_json(table_draws.facts(measured))
    else:
        say("\n".join(table_draws.markdown(table_draws.facts(measured))))
