"""`eigenclean review`: a local page to go through the suspects."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import mention, say, working
from eigenclean.cli.hints.next_steps import after_patch, say_next
from eigenclean.cli.hints.output_files import check_output_file, source_file


def review(
    run: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder that `eigenclean detect` wrote.", show_default=False)
    ],
    port: Annotated[int | None, typer.Option(help="Where to listen; 8765 or the next free port.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    reviewer: Annotated[str | None, typer.Option(help="Who decides; your user name.")] = None,
    source: Annotated[
        str | None, typer.Option(help="The data, if they are no longer where `detect` found them.")
    ] = None,
    encoder: o.EncoderOfRun = None,
    cache: o.Cache = None,
    image_root: o.ImageRootOfRun = None,
    follow_links: o.FollowLinks = False,
    export: Annotated[
        Path | None, typer.Option(help="Write the page as one .html file that needs no server, and end.")
    ] = None,
    most: Annotated[int, typer.Option(help="With --export: how many suspects go into the file.")] = 1000,
    order: Annotated[
        str,
        typer.Option(
            help="Which labels come first: worst, informative (P(right) near one half), random, or mixed of these. "
            "All but worst add labels that are not flagged; worst does so where none is."
        ),
    ] = "mixed",
    patch: Annotated[
        Path | None, typer.Option(help="Write the decisions so far as a patch (.jsonl or .parquet), and end.")
    ] = None,
) -> None:
    """Go through the suspects in a local page and decide; every decision is saved at once."""
    from contextlib import closing

    from eigenclean.review import Review
    from eigenclean.review.actions.export import PATCH
    from eigenclean.review.source import DataChoices
    from eigenclean.workflows.check import run_summary
    from eigenclean.workflows.review import (
        check_page_options,
        require_server,
        serve_page,
        write_page,
        write_patch,
    )

    if export is not None:
        check_page_options(export, most)
    if patch is None and export is None:
        require_server()
    with working():
        choices = DataChoices(encoder, cache, image_root, follow_links)
        opened = Review.open(run, source=source, choices=choices, order=order)
    with closing(opened):
        for note in opened.notes:
            mention(f"note: {note}")
        n = len(opened.suspects)
        if patch is not None:
            check_output_file(patch, source_file(run_summary(run)), option="--patch")
            say(f"{write_patch(opened, patch)}; written to {patch}")
            say_next("eigenclean", *after_patch(run_summary(run), patch))
        if export is not None:
            check_output_file(export, source_file(run_summary(run)), option="--export")
            written = write_page(opened, export, reviewer=reviewer, max_suspects=most)
            if opened.suspects.note:
                mention(f"note: {opened.suspects.note}")
            which = (
                f"all {n}" if written == n else f"the {'worst' if order == 'worst' else 'first'} {written} of {n}"
            )
            say(f"{which} suspects written to {export}; the file holds the data that it shows")
            say_next("eigenclean", "patch", "show", "patch.jsonl")
        if patch is None and export is None:
            decided = serve_page(
                opened,
                announce=_announce,
                port=port,
                reviewer=reviewer,
                browser=browser,
                notify=mention,
                commands=_after_export(after_patch(run_summary(run), run / PATCH)),
            )
            say(f"{decided} of {n} suspects are judged")
            say_next("eigenclean", "review", run, *(["--patch", "patch.jsonl"] if decided else []))


def _after_export(words: list[str]) -> list[str]:
    """What to type when the decisions are in a patch: show what would change, then change it."""
    commands = [words, ["patch", "apply", *words[2:], "--in-place"]] if words[:2] == ["patch", "diff"] else [words]
    return [shlex.join(["eigenclean", *command]) for command in commands]


def _announce(link: str) -> None:
    say(f"Review at {link}")
    sys.stdout.flush()  # whoever started the server through a pipe waits for the link
