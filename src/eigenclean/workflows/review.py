"""`eigenclean review`: the page of a run, served or written as one file, and its decisions as a patch."""

import os
import webbrowser
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from eigenclean.errors import InvalidOption
from eigenclean.extras import require
from eigenclean.files import write_text
from eigenclean.patch import Patch
from eigenclean.review import Review
from eigenclean.review.run import read_run, reviewer_name
from eigenclean.review.single_page import single_page
from eigenclean.sources.annotation_patch import patch_from_answers
from eigenclean.workflows.options import Notify, ignore

MAX_SUSPECTS = 1000  # in a page that is one file: all their images are inside it
_SERVER_MODULES = ("starlette", "uvicorn")


def check_page_options(path: Path, max_suspects: int) -> None:
    """Raise `InvalidOption` unless the page can be written to ``path`` with that many suspects."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InvalidOption(f"review: --export writes an .html file, got {path}")
    if max_suspects < 1:
        raise InvalidOption(f"review: --most must be at least 1, got {max_suspects}")


def require_server() -> None:
    """Raise `MissingExtra` unless the packages that serve the page are installed."""
    for module in _SERVER_MODULES:
        require(module, extra="review", caller="eigenclean review")


def write_page(review: Review, path: Path, *, reviewer: str | None = None, max_suspects: int = MAX_SUSPECTS) -> int:
    """Write the page as one file that needs no server; return the number of suspects in it, the worst ones."""
    check_page_options(path, max_suspects)
    write_text(path, single_page(review, reviewer=reviewer_name(reviewer), most=max_suspects))
    return min(len(review.suspects), max_suspects)


def write_patch(review: Review, path: Path) -> Patch:
    """Write the decisions so far as a patch."""
    patch = review.patch()
    patch.save(path)
    return patch


def import_answers(run: Path, answers: Path, out: Path, *, question: str | None = None) -> Patch:
    """Write what people answered in another tool about the exported suspects of a run as a patch."""
    verdict, _, data_hash = read_run(run)
    patch = patch_from_answers(answers, verdict, data_hash, question=question)
    patch.save(out)
    return patch


def serve_page(
    review: Review,
    *,
    announce: Callable[[str], None],
    port: int | None = None,
    reviewer: str | None = None,
    browser: bool = False,
    notify: Notify = ignore,
    commands: Sequence[str] | None = None,
) -> int:
    """Serve the page until Ctrl-C; return how many suspects are decided by then.

    Args:
        review: the opened run.
        announce: called with every new link that opens the page.
        port: where to listen; by default 8765 or the next free one, 0 for any.
        reviewer: who signs the decisions; by default the name of the user.
        browser: whether the page is opened in a browser.
        notify: told where the decisions are saved.
        commands: what to type after an export.
    """
    require_server()
    from eigenclean.review.serve import serve

    redirect = review.folder / "open-review.html"

    def ready(link: str) -> None:
        if review.suspects.note:
            notify(f"note: {review.suspects.note}")
        notify(f"{len(review.suspects)} suspects; decisions are saved to {review.store.path}; Ctrl-C ends it")
        if browser:
            _open_browser(redirect, link)

    try:
        serve(
            review,
            port=port,
            reviewer=reviewer,
            announce=announce,
            ready=ready,
            commands=commands,
            judge_again=judged_again,
        )
    finally:
        redirect.unlink(missing_ok=True)
    return review.n_decided()


def judged_again(review: Review) -> Review:
    """The run judged anew with what people decided since, and opened with the same data and the same store."""
    from eigenclean.workflows.reviewing.judge_again import judge_again

    judge_again(review)
    opened = Review.open(review.folder, data=review.data, order=review.suspects.order)
    if opened.data_hash != review.data_hash:
        return opened
    opened.close()  # requests may be using the other store, which is the same file
    return replace(opened, store=review.store)


def _open_browser(redirect: Path, link: str) -> None:
    """Open a link with a token by a private file, since every user of the machine can read process arguments."""
    try:
        redirect.unlink(missing_ok=True)
        with open(os.open(redirect, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><title>Review</title><meta http-equiv="refresh" content="0; url={link}">')
    except OSError:  # a full disk: the link is in the terminal
        return
    webbrowser.open(redirect.resolve().as_uri())
