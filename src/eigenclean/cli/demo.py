"""`eigenclean demo`: a real run on bundled data."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import print_json, say, working
from eigenclean.cli.hints.next_steps import say_next
from eigenclean.report.formatting import fixed_percent


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("demo"),
    rate: Annotated[float, typer.Option(help="Share of labels to make wrong, from 0 to 1.")] = 0.2,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Plant wrong labels in scikit-learn's digits, find them, and write a report."""
    from eigenclean.cli.detect import print_summary
    from eigenclean.cli.score import print_quality
    from eigenclean.workflows.demo import run_demo

    with working():
        result = run_demo(out, rate=rate, seed=seed, command=o.command_line())
    if as_json:
        print_json({"summary": result.summary, "quality": result.quality})
        return
    share = fixed_percent(next(iter(result.quality.values()))["noise_rate"])
    say(f"1797 handwritten digits, {share} of the labels made wrong on purpose ({result.noise}).\n")
    print_summary(result.summary)
    say("\nMeasured against the truth, which no detector has seen:")
    print_quality(result.quality)
    say(f"\nOpen {result.folder / 'report.html'} in a browser to see the suspects.")
    say_next("eigenclean", "review", result.folder)
