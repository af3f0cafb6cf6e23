"""`eigenclean bench embed`: from pixels and texts to a verdict, and how fast embedding is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, print_json, say, table, working
from eigenclean_lab.cli.options import Data, outcome, print_ratios, warn_if_busy
from eigenclean_lab.formatting import percent

if TYPE_CHECKING:
    from eigenclean_lab.bench.embed.run import Quality


def bench_embed(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_embed.json.")] = Path("results"),
    data: Data = None,
    samples: Annotated[int, typer.Option(help="Images of CIFAR-10.")] = 10_000,
    cache: Annotated[
        Path | None, typer.Option(help="Keep features here, so that a stopped run goes on; by default nowhere.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Digits only; checks no target, saves nothing.")] = False,
    json: o.Json = False,
) -> None:
    """How well wrong labels are found from images and texts themselves, and how fast they are embedded.

    CIFAR-10 with human labels, bank customers' questions with 20 % wrong labels; embedding against a plain loop of
    the same model. One thread; some minutes. Exit code 1 when a target is missed. Missing data are marked.
    """
    from eigenclean.files import make_folder, write_json
    from eigenclean_lab.bench.embed.run import FILE, facts, run
    from eigenclean_lab.data_folder import data_folder

    if not quick:
        make_folder(out)
    load = warn_if_busy("ratios will be less sure")
    with working():
        qualities, ratios = run(data_folder(data), samples=samples, cache=cache, quick=quick)
    record = facts(qualities, ratios, load)
    if not quick:
        write_json(out / FILE, record)
    if json:
        print_json(record)
    else:
        _print_quality(qualities)
        print_ratios(ratios)
    passed = [*(quality.passed for quality in qualities), *(ratio.passed for ratio in ratios)]
    if not quick and False in passed:
        raise typer.Exit(1)


def _print_quality(qualities: "list[Quality]") -> None:
    output = table(None, "from contents to verdict", "encoder", "rows", "wrong", "AUROC", "target", "")
    for quality in qualities:
        numbers = ["–", "–", "–"]
        if quality.status == "done":
            auroc = "–" if quality.auroc is None else f"{quality.auroc:.3f}"
            numbers = [str(quality.n_samples), percent(quality.noise_rate or 0.0), auroc]
        target = "" if quality.target is None else f">= {quality.target:g}"
        output.add_row(quality.case, str(quality.encoder), *numbers, target, outcome(quality.passed))
    console.print(output)
    for quality in qualities:
        if quality.note:
            say(f"{quality.case}: {quality.note}")
