"""`eigenclean bench`: speed, as ratios."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import console, messages, print_json, table, working

if TYPE_CHECKING:
    from eigenclean.experiments.benchmarks.detect import Result

_HELP = "Measure speed, as ratios against a yardstick in the same run."

bench = typer.Typer(help=_HELP, no_args_is_help=True)


@bench.callback(help=_HELP)
def _bench() -> None:
    # Without a callback, typer would drop the name of a lone command.
    pass


@bench.command("detect")
def bench_detect(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for bench_detect.json.")] = Path("results"),
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the data: promises nothing, saves nothing.")
    ] = False,
    json: o.Json = False,
) -> None:
    """How fast FINE is, against one X.T @ X, one read of X, the published way and scikit-learn.

    Takes some minutes, most of them for the published way. Exit code 1 when a promise is not kept.
    """
    from eigenclean.experiments.benchmarks.detect import Sizes, record, run
    from eigenclean.experiments.benchmarks.timing import busy_processors
    from eigenclean.files import make_folder, write_json

    if not quick:
        make_folder(out)  # a place that cannot be written to is better known now than in some minutes
    busy = busy_processors()
    if busy is not None and busy > 0.5:
        messages.print(f"note: others keep {busy:g} processors busy; ratios will be less sure", markup=False)
    with working():
        results = run(Sizes.quick() if quick else Sizes())
    facts = record(results, date=datetime.now(UTC).date().isoformat(), busy=busy)
    if not quick:
        write_json(out / "bench_detect.json", facts)
    if json:
        print_json(facts)
    else:
        _print_table(results)
    if not quick and any(result.passed is False for result in results):
        raise typer.Exit(1)


def _print_table(results: "list[Result]") -> None:
    shown = table(None, "case", "against", "ratio", "must be", "")
    for result in results:
        seconds = ""
        if result.ours_seconds is not None and result.yardstick_seconds is not None:
            seconds = f"{result.ours_seconds:.3g} s against {result.yardstick_seconds:.3g} s"
        shown.add_row(
            f"{result.case}\n  [dim]{result.note or seconds}[/dim]",
            result.yardstick,
            f"{result.ratio:.3g}x",
            result.must or "",
            {True: "[green]kept[/green]", False: "[red]missed[/red]", None: ""}[result.passed],
        )
    console.print(shown)
