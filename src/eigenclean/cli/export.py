"""`eigenclean export`: a verdict for other tools."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import mention, print_json, say
from eigenclean.cli.hints.next_steps import say_next


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
    image_root: o.ImageRootOfRun = None,
    follow_links: o.FollowLinks = False,
    as_json: o.Json = False,
) -> None:
    """Write a verdict for spreadsheets, cleanlab's users, Label Studio, Argilla or FiftyOne."""
    from eigenclean.workflows.export import export_run

    exported = export_run(
        run,
        to,
        out,
        all_rows=everything,
        images=images,
        image_root=image_root,
        follow_links=follow_links,
        notify=mention,
    )
    if as_json:
        print_json({"out": str(out), "to": to, "n_rows": exported.n_rows})
        return
    say(f"{exported.n_rows} {'samples' if exported.all_rows else 'flagged samples'} written to {out}, for {to}")
    say_next("eigenclean", "review", run)
