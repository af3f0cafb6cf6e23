"""`eigenclean bench embed`: from pixels and texts to a verdict, and how fast embedding is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, mention, print_json, say, table, working

if TYPE_CHECKING:
    from eigenclean_lab.bench.embed import Quality


def bench_embed(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_embed.json.")] = Path("results"),
    data: Annotated[
        Path | None, typer.Option(help="Folder of the data; by default EIGENCLEAN_DATA, then ../shared/data.")
    ] = None,
    samples: Annotated[int, typer.Option(help="Pictures of CIFAR-10.")] = 10_000,
    cache: Annotated[
        Path | None, typer.Option(help="Keep features here, so that a stopped run goes on; by default nowhere.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Digits only; promises nothing, saves nothing.")] = False,
    json: o.Json = False,
) -> None:
    """How well wrong labels are found from pictures and texts themselves, and how fast they are embedded.

    CIFAR-10 with human labels, bank customers' questions with 20 % wrong labels; embedding against a bare loop of
    the same model. One thread; some minutes. Exit code 1 when a promise is not kept. Missing data are marked.
    """
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.embed import FILE, facts, run
    from eigenclean_lab.bench.quality_data import data_folder
    from eigenclean_lab.bench.timing import busy_processors
    from eigenclean_lab.cli.bench import print_ratios

    if not quick:
        make_folder(out)
    busy = busy_processors()
    if busy is not None and busy > 0.5:
        mention(f"note: others keep {busy:g} processors busy; ratios will be less sure")
    with working():
        found, times = run(data_folder(data), samples=samples, cache=cache, quick=quick)
    made = facts(found, times, busy)
    if not quick:
        write_json(out / FILE, made)
    if json:
        print_json(made)
    else:
        _print_quality(found)
        print_ratios(times)
    passed = [*(one.passed for one in found), *(one.passed for one in times)]
    if not quick and any(one is False for one in passed):
        raise typer.Exit(1)


def _print_quality(found: "list[Quality]") -> None:
    shown = table(None, "from contents to verdict", "encoder", "rows", "wrong", "AUROC", "must be", "")
    for one in found:
        numbers = ["–", "–", "–"]
        if one.status == "done":
            auroc = "–" if one.auroc is None else f"{one.auroc:.3f}"
            numbers = [str(one.n_samples), f"{100 * (one.noise_rate or 0):.1f} %", auroc]
        passed = {True: "[green]kept[/green]", False: "[red]missed[/red]", None: ""}[one.passed]
        least = "" if one.least is None else f">= {one.least:g}"
        shown.add_row(one.case, str(one.encoder), *numbers, least, passed)
    console.print(shown)
    for one in found:
        if one.note:
            say(f"{one.case}: {one.note}")
