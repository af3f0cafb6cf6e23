"""Single hostile requests, and the statuses that are right answers to them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from attacks.server.client import Client, decision

Headers = Callable[[Client], dict[str, str | None]]
REFUSED = (400, 403, 404, 405, 413, 421)
_VALID = {("label", 0), ("label", 3), ("base", 4)}  # odd values that are right for these fields
PATHS = (
    "/",
    "/api/run",
    "/api/items?at=0",
    "/api/changes?since=0",
    "/api/patch",
    "/page/main.js",
    "/favicon.ico",
    "/picture/x/0",
    "/small/x/0",
    "/nowhere",
)


@dataclass(frozen=True)
class Probe:
    """A hostile request.

    Attributes:
        name: what is wrong with it.
        content: its bytes, given a client with and one without access.
        allowed: statuses that are right answers; 0 means that the connection is closed without any.
        finish: whether nothing more will be sent, so that the server need not wait for the rest.
    """

    name: str
    content: Callable[[Client, Client], bytes]
    allowed: tuple[int, ...]
    finish: bool = False


def access_probes() -> Iterator[Probe]:
    """Requests of people and pages that have no access."""
    for path in PATHS:
        yield Probe(f"no cookie {path}", _stranger("GET", path), REFUSED)
        for name, headers in _forged().items():
            yield Probe(f"{name} {path}", _page("GET", path, headers=headers), REFUSED)
    body = json.dumps(decision(0, 10**6)).encode()
    for path in ("/api/decisions", "/api/undo", "/api/export"):
        yield Probe(f"no cookie {path}", _stranger("POST", path, body), REFUSED)
        for name, headers in {**_forged(), **_forged_posts()}.items():
            yield Probe(f"{name} {path}", _page("POST", path, body, headers=headers), REFUSED)
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "GET"):
            yield Probe(f"{method} {path}", _page(method, path), (*REFUSED, 0))
    for token in ("", "x", "x" * 5000, "%00", "é", "..", "1 or 1=1"):
        yield Probe(f"token {token[:10]}", _stranger("GET", f"/?token={token}"), (*REFUSED, 0))


def traversal_probes() -> Iterator[Probe]:
    """Paths that lead to other files."""
    secrets = ("etc/passwd", "review.sqlite", "summary.json", "app.py")
    steps = ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%5c", "....//", "%252e%252e%252f", "..;/", "/", "//")
    for prefix in ("/page/", "/picture/x/", "/small/x/", "/"):
        for step in steps:
            for secret in secrets:
                path = f"{prefix}{step * 4}{secret}"
                yield Probe(path, _page("GET", path), REFUSED)


def malformed_probes() -> Iterator[Probe]:
    """Bytes that are no request, or only nearly one."""
    closed = (0, *REFUSED, 414, 431, 411, 501, 505)
    garbage: dict[str, bytes] = {
        "nothing": b"",
        "line ends": b"\r\n" * 1000,
        "zeros": bytes(5000),
        "all bytes": bytes(range(256)) * 20,
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "HTTP/0.9": b"GET /\r\n",
        "no version": b"GET / \r\n\r\n",
        "a version of its own": b"GET / HTTP/9.9\r\n\r\n",
        "a long method": b"G" * 100_000 + b" / HTTP/1.1\r\n\r\n",
        "a long path": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        "a long header": b"GET / HTTP/1.1\r\nX: " + b"a" * 300_000 + b"\r\n\r\n",
        "many headers": b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: 1\r\n" % i for i in range(20_000)) + b"\r\n",
        "a header without name": b"GET / HTTP/1.1\r\n: x\r\n\r\n",
        "a folded header": b"GET / HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
        "zero in the path": b"GET /\0 HTTP/1.1\r\n\r\n",
        "zero in a header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\0\r\n\r\n",
        "no host": b"GET / HTTP/1.1\r\n\r\n",
        "a path of another host": b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
        "bare line feeds": b"GET / HTTP/1.1\nHost: x\n\n",
    }
    for name, content in garbage.items():
        yield Probe(name, _bytes(content), closed, finish=True)
    for value in ("-1", "99999999999999999999", "1e3", "0x10", "", "٣", "5, 5", "+5", "9" * 5000):
        yield Probe(
            f"length {value[:12]}",
            _page("POST", "/api/decisions", b"{}", {"Content_Length": value}),
            closed,
            finish=True,
        )
    for name, lines in {
        "two lengths": "Content-Length: 2\r\nContent-Length: 5",
        "length and chunks": "Content-Length: 2\r\nTransfer-Encoding: chunked",
        "odd chunks": "Transfer-Encoding: chunked, identity",
    }.items():
        yield Probe(name, _with_lines(lines), closed, finish=True)
    for chunk in (b"zz\r\n", b"-1\r\n", b"ffffffffffffffff\r\n", b"5\r\nab", b"0" * 100_000):
        yield Probe(f"chunk {chunk[:8]!r}", _with_lines("Transfer-Encoding: chunked", chunk), closed, finish=True)


def body_probes() -> Iterator[Probe]:
    """Bodies and queries of somebody who has access, as a page with an error might send them."""
    change = decision(0, 10**6)["decisions"][0]
    bodies: dict[str, bytes] = {
        "empty": b"",
        "no JSON": b"{",
        "a list": b"[]",
        "deep": b"[" * 100_000,
        "deep object": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        "deep decision": b'{"decisions": [' + b"[" * 50_000 + b"]" * 50_000 + b"]}",
        "surrogate": json.dumps({**decision(0, 1), "reviewer": "\ud800"}).encode(),
        "surrogate action": json.dumps({**decision(0, 1), "action": "\udfff"}).encode(),
        "surrogate request": json.dumps({**decision(0, 1), "request": "\ud800"}).encode(),
        "invalid UTF-8": b'{"reviewer": "\xff"}',
        "UTF-16": json.dumps(decision(0, 1)).encode("utf-16"),
        "long digits": b'{"decisions": [{"item": ' + b"1" * 5000 + b"}]}",
        "infinity": b'{"decisions": [{"item": Infinity, "state": "keep", "base": NaN}]}',
        "huge base": json.dumps({**decision(0, 1), "decisions": [{**change, "base": 10**30}]}).encode(),
        "negative base": json.dumps({**decision(0, 1), "decisions": [{**change, "base": -1}]}).encode(),
        "one item twice": json.dumps(
            {**decision(0, 1), "decisions": [change, {**change, "state": "remove"}]}
        ).encode(),
        "too many": json.dumps({**decision(0, 1), "decisions": [change] * 6000}).encode(),
        "too long": b" " * (2 << 20),
        "zero in text": json.dumps({**decision(0, 1), "reviewer": ""}).encode(),
    }
    odd: tuple[Any, ...] = (None, True, "0", -1, 10**9, 0.5, [], {}, 10**400)
    for field in ("item", "state", "label", "base"):
        for number, value in enumerate(odd):
            if (field, number) in _VALID:
                continue
            record = {**decision(0, 1), "decisions": [{**change, field: value}]}
            bodies[f"{field} {number}"] = json.dumps(record).encode()
    for field in ("decisions", "action", "request", "reviewer"):
        for number, value in enumerate((None, 5, [], {}, "x" * 1000)):
            bodies[f"{field} {number}"] = json.dumps({**decision(0, 1), field: value}).encode()
    for name, body in bodies.items():
        yield Probe(f"body: {name}", _page("POST", "/api/decisions", body), (*REFUSED, 0))
    for path in (
        f"/picture/x/{'1' * 5000}",
        "/picture/x/-1",
        "/picture/x/٣",
        "/picture/%ff/1",
        "/small/x/1e5",
        f"/api/items?at={'1' * 5000}",
        "/api/items?at=" + "0," * 5000,
        "/api/items?at=-1",
        "/api/items",
        f"/api/changes?since={'9' * 5000}",
        "/api/changes?since=-1",
        "/api/changes?since=%ff",
        "/page/%ff%fe",
        "/page/%00",
        "/page/main.js%00.html",
        "/%ff",
    ):
        yield Probe(f"path: {path[:40]}", _page("GET", path), REFUSED)


PROBES: dict[str, Callable[[], Iterator[Probe]]] = {
    "access": access_probes,
    "traversal": traversal_probes,
    "malformed": malformed_probes,
    "bodies": body_probes,
}


def _forged() -> dict[str, Headers]:
    """Headers of requests that are not the page's."""
    return {
        "wrong cookie": lambda client: {"Cookie": client.cookie[:-1] + "x"},
        "empty cookie": lambda client: {"Cookie": client.cookie.partition("=")[0] + "="},
        "odd cookie": lambda client: {"Cookie": "\x01;;;=" + "=" * 500},
        "foreign host": lambda client: {"Host": f"evil.example:{client.port}"},
        "host without port": lambda client: {"Host": "127.0.0.1"},
        "host of another port": lambda client: {"Host": "127.0.0.1:1"},
        "host and user": lambda client: {"Host": f"x@{client.host}"},
        "foreign origin": lambda client: {"Origin": "http://evil.example"},
        "null origin": lambda client: {"Origin": "null"},
        "origin of another port": lambda client: {"Origin": "http://127.0.0.1:1"},
        "secure origin": lambda client: {"Origin": f"https://{client.host}"},
        "cross-site": lambda client: {"Sec_Fetch_Site": "cross-site"},
        "same-site": lambda client: {"Sec_Fetch_Site": "same-site"},
    }


def _forged_posts() -> dict[str, Headers]:
    """Headers of changes that a form on another page could send."""
    return {
        "no origin": lambda client: {"Origin": None},
        "a form": lambda client: {"Content_Type": "application/x-www-form-urlencoded"},
        "plain text": lambda client: {"Content_Type": "text/plain"},
        "no type": lambda client: {"Content_Type": None},
        "no length": lambda client: {"Content_Length": None},
    }


def _page(
    method: str, path: str, body: bytes = b"", headers: Headers | dict[str, str | None] | None = None
) -> Callable[[Client, Client], bytes]:
    """A request with the cookie of the page, and perhaps other headers."""

    def content(client: Client, other: Client) -> bytes:
        return client.request(method, path, body, **(headers(client) if callable(headers) else headers or {}))

    return content


def _stranger(method: str, path: str, body: bytes = b"") -> Callable[[Client, Client], bytes]:
    """A request without the cookie."""
    return lambda client, other: other.request(method, path, body)


def _bytes(content: bytes) -> Callable[[Client, Client], bytes]:
    """Just these bytes."""
    return lambda client, other: content


def _with_lines(lines: str, body: bytes = b"{}") -> Callable[[Client, Client], bytes]:
    """A decision without a length, and with other lines in its head."""

    def content(client: Client, other: Client) -> bytes:
        request = client.request("POST", "/api/decisions", b"", Content_Length=None)
        return request.removesuffix(b"\r\n") + lines.encode() + b"\r\n\r\n" + body

    return content
