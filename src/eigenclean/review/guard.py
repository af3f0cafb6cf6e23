"""Access control: only the browser of the person who can read the terminal may use the review server.

The server listens on this machine alone, but every web page that the browser has open can send requests there, and
every user of the machine can connect. So each request must

* carry the cookie that the link in the terminal was exchanged for (other users, other pages);
* name this very address as its Host: a foreign name that resolves to this machine is DNS rebinding;
* come from this page, by Origin and Sec-Fetch-Site, when it changes or reads data: else it is request forgery.
"""

import secrets
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 1 << 20  # of one request
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOCAL_PAGES = "http://localhost:* http://127.0.0.1:*"  # where notebooks run that show the page in a frame
_SAFE = ("GET", "HEAD")
_ENTER = "This page opens with the link that `eigenclean review` printed in the terminal.\n"
_USED = "This link was for one use. Ask for a new one, or open the link in the terminal.\n"
_COOKIE_SECONDS = 30 * 86_400  # a browser that is started again still has it; the server forgets it when it ends


class Guard:
    """Wraps the application; lets through what may pass and puts the headers on every answer.

    Args:
        app: what is guarded.
        port: where the server listens.
        announce: called with the link when one for one use was opened again.
        frames: which pages may show this one in a frame; by default none.
    """

    def __init__(
        self, app: ASGIApp, port: int, announce: Callable[[str], None], *, frames: str | None = None
    ) -> None:
        self._app = app
        self._port = port
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._announce = announce
        self._session = secrets.token_urlsafe(32)
        self._token = secrets.token_urlsafe(32)
        self._more: set[str] = set()  # links that were asked for, each for one use
        self._used: set[str] = set()
        self._headers = HEADERS if frames is None else _framed(frames)
        self.cookie = f"eigenclean-review-{port}"  # cookies do not know about ports

    @property
    def link(self) -> str:
        """Opens the page, in any browser of the person who can read it, as long as the server runs."""
        return f"http://127.0.0.1:{self._port}/?token={self._token}"

    def new_link(self) -> str:
        """A link that opens the page once: for what is stored, such as the output of a notebook."""
        self._more.add(token := secrets.token_urlsafe(32))
        return f"http://127.0.0.1:{self._port}/?token={token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":  # no web sockets here
            return
        refusal = self._refusal(scope)
        app = self._app if refusal is None else refusal
        await app(scope, _limited(receive), _with_headers(send, self._headers))

    def _refusal(self, scope: Scope) -> Response | None:
        headers, method = Headers(scope=scope), scope["method"]
        host = headers.getlist("host")
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return _no(421, "This server answers to 127.0.0.1 and localhost only.\n")
        origins = headers.getlist("origin")
        if any(origin != f"http://{host[0].lower()}" for origin in origins):
            return _no(403, "Requests from other pages are refused.\n")
        if method not in _SAFE:
            if not origins or headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return _no(403, "Changes are accepted from the page itself only.\n")
            length = headers.get("content-length", "")
            if not (length.isascii() and length.isdigit() and len(length) < 10) or int(length) > MOST_BYTES:
                return _no(413, f"A request must say its length, at most {MOST_BYTES} bytes.\n")
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if token is not None and scope["path"] == "/" and method in _SAFE:
            return self._enter(token[0], headers)
        if not self._knows(headers):
            return _no(403, _ENTER)
        # A link on a foreign page may open ours, but its scripts and images may not send requests.
        navigates = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") and not navigates:
            return _no(403, "Requests from other pages are refused.\n")
        return None

    def _enter(self, token: str, headers: Headers) -> Response:
        """Exchange the token for the cookie, which outlives the browser."""
        offered = token.encode()
        valid = next((t for t in (self._token, *self._more) if secrets.compare_digest(offered, t.encode())), None)
        if valid is not None:
            if valid in self._more:
                self._more.discard(valid)
                self._used.add(valid)
            answer = _go_on()
            answer.set_cookie(
                self.cookie, self._session, max_age=_COOKIE_SECONDS, httponly=True, samesite="strict", path="/"
            )
            return answer
        if self._knows(headers):
            return _go_on()
        if any(secrets.compare_digest(offered, used.encode()) for used in self._used):
            self._announce(self.link)
            return _no(403, _USED)
        return _no(403, _ENTER)

    def _knows(self, headers: Headers) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return cookie is not None and secrets.compare_digest(cookie.value.encode(), self._session.encode())


def _go_on() -> Response:
    """To the page itself. Not by a redirect: when the link stood on another page, the browser takes the whole chain
    for that page's doing, and leaves the strict cookie behind.
    """
    return HTMLResponse('<!doctype html><title>Review</title><meta http-equiv="refresh" content="0; url=/">')


def _no(status: int, sentence: str) -> Response:
    return PlainTextResponse(sentence, status)


def _limited(receive: Receive) -> Receive:
    """Cut a body off that is longer than it said it would be."""
    left = MOST_BYTES

    async def limited() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return {"type": "http.disconnect"} if left < 0 else message

    return limited


def _framed(frames: str) -> dict[str, str]:
    """The headers of a page that others may show in a frame; X-Frame-Options could not name them."""
    headers = {name: value for name, value in HEADERS.items() if name != "X-Frame-Options"}
    policy = POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {frames}")
    return {**headers, "Content-Security-Policy": policy}


def _with_headers(send: Send, shown: Mapping[str, str]) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(shown)
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return with_headers
