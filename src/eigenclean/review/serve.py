"""Serves the review page on the loopback interface."""

import errno
import socket
from collections.abc import Callable, Sequence

import uvicorn
from starlette.types import ASGIApp

from eigenclean.errors import InvalidOption
from eigenclean.review.app import make_app
from eigenclean.review.guard import Guard
from eigenclean.review.limits import Limits, limited_protocol
from eigenclean.review.run import Review, reviewer_name

HOST = "127.0.0.1"
PORT = 8765
_PORTS_TRIED = 20
LIMITS = Limits()


def serve(
    review: Review,
    *,
    port: int | None = None,
    reviewer: str | None = None,
    announce: Callable[[str], None],
    ready: Callable[[str], None] = lambda link: None,
    commands: Sequence[str] | None = None,
    judge_again: Callable[[Review], Review] | None = None,
) -> None:
    """Serve the page until Ctrl-C.

    Args:
        review: the opened run.
        port: where to listen; by default 8765 or the next free one, 0 for any.
        reviewer: who signs the decisions; by default the name of the user.
        announce: called with every new link that opens the page.
        ready: called once with the first link when the server listens.
        commands: what to type after an export.
        judge_again: judges the run anew with its decisions and opens it.
    """
    name = reviewer_name(reviewer)
    listening = listen(port)
    with listening:
        port = listening.getsockname()[1]
        app = Guard(
            make_app(review, reviewer=name, commands=commands, judge_again=judge_again),
            port=port,
            announce=announce,
        )
        announce(app.link)
        ready(app.link)  # the socket listens already; a connection waits until the server runs
        try:
            make_server(app).run(sockets=[listening])
        except KeyboardInterrupt:  # Ctrl-C is how it ends
            return


def make_server(app: ASGIApp, limits: Limits = LIMITS) -> uvicorn.Server:
    """The HTTP server. It writes no log, because the first request contains the token."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=limited_protocol(limits),
            loop="asyncio",
            interface="asgi3",
            proxy_headers=False,
            h11_max_incomplete_event_size=limits.header_bytes,
            timeout_keep_alive=limits.idle,
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=2,
        )
    )


def listen(port: int | None) -> socket.socket:
    """A socket that listens on the loopback interface."""
    for candidate in [port] if port is not None else range(PORT, PORT + _PORTS_TRIED):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, candidate))
            listening.listen(128)
            return listening
        except (OSError, OverflowError) as error:
            listening.close()
            if port is None and isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
                continue
            reason = error.strerror if isinstance(error, OSError) else "ports are numbers from 0 to 65535"
            raise InvalidOption(f"review: cannot listen on port {candidate}: {reason}; choose another") from None
    raise InvalidOption(f"review: ports {PORT} to {PORT + _PORTS_TRIED - 1} are all taken; choose one with --port")
