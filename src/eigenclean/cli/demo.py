"""`eigenclean demo`: a real run on bundled data."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import percent, print_json, say, working


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("demo"),
    rate: Annotated[float, typer.Option(help="Share of labels to make wrong, from 0 to 1.")] = 0.2,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Plant wrong labels in scikit-learn's digits, find them, and write a report."""
    import shlex
    import sys

    from eigenclean.cli.detect import print_summary
    from eigenclean.cli.score import print_quality
    from eigenclean.workflows.demo import run_demo

    with working():
        made = run_demo(out, rate=rate, seed=seed, command=shlex.join(["eigenclean", *sys.argv[1:]]))
    if as_json:
        print_json({"summary": made.summary, "quality": made.quality})
        return
    truly = next(iter(made.quality.values()))["noise_rate"]
    say(f"1797 handwritten digits, {percent(truly)} of the labels made wrong on purpose ({made.noise}).\n")
    print_summary(made.summary)
    say("\nMeasured against the truth, which no detector has seen:")
    print_quality(made.quality)
    say(f"\nOpen {made.folder / 'report.html'} in a browser to see the suspects; judge them with")
    say(f"eigenclean review {made.folder}")
