"""`eigenclean export`: a verdict for other tools."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import mention, print_json, say
from eigenclean.errors import EigencleanError
from eigenclean.names import check_name

if TYPE_CHECKING:
    from eigenclean.sources import Source


def export(
    run: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that `eigenclean detect` wrote.", show_default=False)
    ],
    to: Annotated[str, typer.Option(help="For which tool; see `eigenclean list exports`.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.", show_default=False)],
    everything: Annotated[
        bool | None,
        typer.Option(
            "--all/--flagged",
            help="All samples in their order, or the flagged ones, worst first; by default what the tool is for.",
            show_default=False,
        ),
    ] = None,
    images: Annotated[Path | None, typer.Option(help="Folder in which the ids are names of image files.")] = None,
    as_json: o.Json = False,
) -> None:
    """Hand a verdict on: to spreadsheets, cleanlab's users, Label Studio, Argilla or FiftyOne."""
    import numpy as np

    from eigenclean.report.exports import EXPORTS, Rows
    from eigenclean.verdict import Verdict

    check_name(to, EXPORTS, by="eigenclean export", what="--to")
    chosen = EXPORTS[to]
    chosen.check_path(out, to)
    verdict = Verdict.load(run)
    wanted = chosen.everything if everything is None else everything
    rows = np.arange(len(verdict)) if wanted else verdict.suspects()
    chosen.write(Rows(verdict, rows, _source(run), images), out)
    if as_json:
        print_json({"out": str(out), "to": to, "n_rows": len(rows)})
        return
    say(f"{len(rows)} {'samples' if wanted else 'flagged samples'} written to {out}, for {to}")


def _source(run: Path) -> "Source | None":
    """The data of the run, for their texts and images, when they are still there and the same."""
    from eigenclean.sources.record import reopen

    try:
        summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
        record = summary.get("source")
        if not isinstance(record, dict):
            return None
        source = reopen(record)
        if source.data_hash() != summary.get("data_hash"):
            mention(f"note: {source.name} has changed since the run, so its texts and images are left out")
            return None
        return source
    except (OSError, ValueError, EigencleanError):
        return None
