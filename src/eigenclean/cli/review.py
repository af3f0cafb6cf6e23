"""`eigenclean review`: a local page to go through the suspects."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigenclean.cli.console import mention, say, working
from eigenclean.errors import InvalidOption

if TYPE_CHECKING:
    from eigenclean.review import Review


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
    export: Annotated[
        Path | None, typer.Option(help="Write the page as one .html file that needs no server, and end.")
    ] = None,
    most: Annotated[int, typer.Option(help="With --export: how many suspects go into the file.")] = 1000,
    patch: Annotated[
        Path | None, typer.Option(help="Write the decisions so far as a patch (.jsonl or .parquet), and end.")
    ] = None,
) -> None:
    """Go through the suspects in a local page and decide; every decision is saved at once."""
    from eigenclean.extras import require

    if export is not None and export.suffix.lower() not in (".html", ".htm"):
        raise InvalidOption(f"review: --export writes an .html file, got {export}")
    if most < 1:
        raise InvalidOption(f"review: --most must be at least 1, got {most}")
    if patch is None and export is None:
        for module in ("starlette", "uvicorn"):
            require(module, extra="review", caller="eigenclean review")
    from eigenclean.review import Review

    with working():
        opened = Review.open(run, source=source)
    try:
        for note in opened.notes:
            mention(f"note: {note}")
        if patch is not None:
            decisions = opened.patch()
            decisions.save(patch)
            say(f"{decisions}; written to {patch}")
        if export is not None:
            _export(opened, export, reviewer, most)
        if patch is None and export is None:
            _serve(opened, port, browser, reviewer)
    finally:
        opened.close()


def _export(opened: "Review", path: Path, reviewer: str | None, most: int) -> None:
    from eigenclean.files import write_text
    from eigenclean.review.run import default_reviewer
    from eigenclean.review.single import single_page

    write_text(path, single_page(opened, reviewer=reviewer or default_reviewer(), most=most))
    n = len(opened.suspects)
    which = f"all {n}" if n <= most else f"the worst {most} of {n}"
    say(f"{which} suspects written to {path}; the file holds the data that it shows")


def _serve(opened: "Review", port: int | None, browser: bool, reviewer: str | None) -> None:
    import sys

    from eigenclean.review.serve import serve

    redirect = opened.folder / "open-review.html"

    def announce(link: str) -> None:
        say(f"Review at {link}")
        sys.stdout.flush()

    def ready(link: str) -> None:
        mention(f"{len(opened.suspects)} suspects; decisions are saved to {opened.store.path}; Ctrl-C ends it")
        if browser:
            _open_browser(redirect, link)

    try:
        serve(opened, port=port, reviewer=reviewer, announce=announce, ready=ready)
    finally:
        redirect.unlink(missing_ok=True)
    judged = sum(decision["state"] != "open" for decision in opened.decisions())
    say(f"{judged} of {len(opened.suspects)} suspects are judged; export them with --patch patch.jsonl")


def _open_browser(redirect: Path, link: str) -> None:
    """Show the link to the browser alone: every user of the machine can read the arguments of a process."""
    import os
    import webbrowser

    redirect.unlink(missing_ok=True)
    with open(os.open(redirect, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f'<!doctype html><title>Review</title><meta http-equiv="refresh" content="0; url={link}">')
    webbrowser.open(redirect.resolve().as_uri())
