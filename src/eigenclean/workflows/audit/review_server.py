"""The review page of an audit: served in the background of a notebook, or written as one file."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from eigenclean.review import Review
from eigenclean.review.order import MIXED
from eigenclean.review.run import reviewer_name
from eigenclean.sources import Source
from eigenclean.workflows.review import check_page_options, judged_again, require_server, write_page

FRAME_HEIGHT = 720  # pixels
# The cookie of the page is sent to the host that the notebook has in the browser, and to no other.
_SAME_HOST = (
    "for (const e of document.querySelectorAll('[data-eigenclean]')) { const at = e.dataset.eigenclean; "
    "const host = location.hostname === 'localhost' ? 'localhost' : '127.0.0.1'; "
    "const url = at.replace('127.0.0.1', host); if (e.tagName === 'A') e.href = url; else e.src = url; "
    "delete e.dataset.eigenclean; }"
)


@contextmanager
def open_review(folder: Path, source: Source | None, order: str = MIXED) -> Iterator[Review]:
    """The run opened for review, with the data at hand if there are any."""
    review = Review.open(folder, data=source, order=order)
    try:
        yield review
    finally:
        review.close()


def write_review(
    folder: Path, source: Source | None, path: Path, *, reviewer: str | None, most: int, order: str = MIXED
) -> Path:
    """Write the page as one file that needs no server."""
    check_page_options(path, most)
    with open_review(folder, source, order) as review:
        write_page(review, path, reviewer=reviewer, max_suspects=most)
    return path


class ReviewServer:
    """A review page that is served until `stop` is called or the program ends.

    Attributes:
        folder: the run; decisions are saved there at once.
        n_suspects: how many there are to decide about.
    """

    def __init__(self, review: Review, *, port: int | None = None, reviewer: str | None = None) -> None:
        require_server()
        from eigenclean.review.app import make_app
        from eigenclean.review.guard import LOCAL_PAGES, Guard
        from eigenclean.review.serve import listen, make_server

        self.folder, self.n_suspects = review.folder, len(review.suspects)
        self._review = review
        self._socket = listen(port)
        app = make_app(review, reviewer=reviewer_name(reviewer), judge_again=judged_again)
        self._guard = Guard(app, port=self._socket.getsockname()[1], announce=lambda link: None, frames=LOCAL_PAGES)
        self._server = make_server(self._guard)
        self._thread = threading.Thread(target=self._run, name="eigenclean review", daemon=True)
        self._thread.start()

    @property
    def link(self) -> str:
        """Opens the page, once; ask again for another link."""
        return self._guard.new_link()

    @property
    def is_running(self) -> bool:
        """Whether the page is still served."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Stop serving. Decisions are saved already."""
        self._server.should_exit = True
        self._thread.join(timeout=10)

    def __repr__(self) -> str:
        if not self.is_running:
            return f"Review of {self.n_suspects} suspects, stopped; decisions are in {self.folder}"
        return f"Review of {self.n_suspects} suspects at {self.link} ; decisions are saved to {self.folder}"

    def _repr_html_(self) -> str:
        if not self.is_running:
            return f"<p>{escape(repr(self))}</p>"
        page, frame = escape(self.link), escape(self.link)
        return (
            f'<p><a href="{page}" data-eigenclean="{page}" target="_blank" rel="noopener">Open the review of '
            f"{self.n_suspects} suspects</a>; decisions are saved to <code>{escape(str(self.folder))}</code>.</p>"
            f'<iframe data-eigenclean="{frame}" width="100%" height="{FRAME_HEIGHT}" title="Review" '
            f'style="border:1px solid #8886"></iframe><script>{_SAME_HOST}</script>'
        )

    def _run(self) -> None:
        try:
            with self._socket:
                self._server.run(sockets=[self._socket])
        finally:
            self._review.close()


def start_review(folder: Path, source: Source | None, *, order: str = MIXED, **options: Any) -> ReviewServer:
    """Serve the review page of a run in the background."""
    require_server()
    return ReviewServer(Review.open(folder, data=source, order=order), **options)
