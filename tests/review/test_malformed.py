"""Requests that no page sends: each is answered with 4xx and a sentence, stores nothing and prints nothing."""

import json
import socket
from typing import Any

import pytest

Served = Any  # of conftest.py

DECISION = {"item": 0, "state": "keep", "base": 0}
FIELDS = {"action": "a", "request": "r", "reviewer": "Eve"}
BIG = "1" + "0" * 400


def _body(decision: str = json.dumps(DECISION), **fields: str) -> bytes:
    texts = {name: json.dumps(value) for name, value in FIELDS.items()} | fields
    rest = "".join(f', "{name}": {text}' for name, text in texts.items())
    return f'{{"decisions": [{decision}]{rest}}}'.encode()


BODIES = {
    "deep list": b"[" * 100_000,
    "deep list, closed": b"[" * 50_000 + b"]" * 50_000,
    "deep object": b'{"a":' * 100_000,
    "deep decision": _body("[" * 40_000 + "]" * 40_000),
    "half a pair as action": _body(action=r'"\ud800"'),
    "half a pair as request": _body(request=r'"\udfff"'),
    "half a pair as reviewer": _body(reviewer=r'"x\ud800y"'),
    "half a pair as state": _body(r'{"item": 0, "state": "\ud800", "base": 0}'),
    "NaN": _body('{"item": NaN, "state": "keep", "base": 0}'),
    "Infinity": _body('{"item": 0, "state": "keep", "base": Infinity}'),
    "-Infinity": _body('{"item": 0, "state": "keep", "base": 0, "label": -Infinity}'),
    "NaN elsewhere": _body(more="NaN"),
    "float overflow": _body('{"item": 1e999, "state": "keep", "base": 0}'),
    "large item": _body(f'{{"item": {BIG}, "state": "keep", "base": 0}}'),
    "large base": _body(f'{{"item": 0, "state": "keep", "base": {BIG}}}'),
    "base of 64 bits": _body(f'{{"item": 0, "state": "keep", "base": {2**63}}}'),
    "negative base": _body('{"item": 0, "state": "keep", "base": -1}'),
    "base true": _body('{"item": 0, "state": "keep", "base": true}'),
    "too many digits": _body(f'{{"item": {"1" * 5000}, "state": "keep", "base": 0}}'),
    "fractions": _body('{"item": 0.0, "state": "keep", "base": 0}'),
    "label as fraction": _body('{"item": 0, "state": "keep", "base": 0, "label": -1.0}'),
    "large label": _body(f'{{"item": 0, "state": "relabel", "base": 0, "label": {BIG}}}'),
    "key twice": _body(action='"a", "action": "b"'),
    "key twice inside": _body('{"item": 0, "item": 1, "state": "keep", "base": 0}'),
    "item twice": _body(f"{json.dumps(DECISION)}, {json.dumps({**DECISION, 'state': 'remove'})}"),
    "item twice, the same": _body(f"{json.dumps(DECISION)}, {json.dumps(DECISION)}"),
    "UTF-16": _body().decode().encode("utf-16"),
    "UTF-32": _body().decode().encode("utf-32-le"),
    "not UTF-8": _body(reviewer='"X"').replace(b"X", b"\xff"),
    "surrogates as bytes": _body(reviewer='"X"').replace(b"X", b"\xed\xa0\x80"),
    "byte order mark": b"\xef\xbb\xbf" + _body(),
    "null bytes": b"\0" * 100,
    "null byte in JSON": _body() + b"\0",
    "two documents": _body() + _body(),
    "empty reviewer action": _body(action='""'),
    "long action": _body(action=json.dumps("x" * 201)),
    "no decisions": b'{"decisions": {}, "action": "a", "request": "r"}',
    "too many decisions": _body(", ".join([json.dumps(DECISION)] * 5001)),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies(inside: Served, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    for path in ("/api/decisions", "/api/undo") if name not in _FOR_UNDO_FINE else ("/api/decisions",):
        status, headers, content = inside.ask("POST", path, BODIES[name])
        assert status == 400 and headers["content-type"] == "application/json"
        assert list(json.loads(content)) == ["error"]
    assert inside.review.store.history() == []
    assert capfd.readouterr().err == ""


# What is wrong with these is not in the fields that undo reads.
_FOR_UNDO_FINE = {
    name
    for name in BODIES
    if name.startswith(
        ("base", "large", "negative", "fraction", "label", "item", "float", "half a pair as s", "too")
    )
    or name in ("half a pair as action", "empty reviewer action", "long action", "no decisions")
} - {"too many digits"}


def test_two_decisions_about_one_item_are_refused_together(inside: Served) -> None:
    decisions = [{**DECISION, "item": item} for item in (1, 2, 3, 2)]
    status, _, content = inside.ask("POST", "/api/decisions", {"decisions": decisions, **FIELDS})
    assert status == 400 and "one decision about each item" in json.loads(content)["error"]
    assert inside.review.store.history() == []


NUMBERS = ["9" * 5000, "-1", "1e3", "%EF%BC%91", "0x1", "%D9%A3", "1%00", " 1", "%20", "9" * 20]
ADDRESSES = [
    *(f"/{size}/{key}/{number}" for size in ("picture", "small") for key in ("x", "KEY") for number in NUMBERS),
    *(f"/api/suspects?from={number}" for number in NUMBERS),
    "/api/suspects",
    "/api/suspects?from=1&from=x",
    "/api/suspects?from=999999",
    *(f"/api/items?at={number}" for number in NUMBERS),
    *(f"/api/changes?since={number}" for number in NUMBERS),
    "/api/items?" + "&".join(["at=0"] * 400),
    "/" + "a/" * 3000,
    "/%ff%fe",
    "/page/%ed%a0%80",
    "/api/run/",
    "/api/../api/runs",
    "//evil.example/api/x",
]


@pytest.mark.parametrize("address", ADDRESSES, ids=lambda text: text[:40])
def test_addresses(inside: Served, address: str, capfd: pytest.CaptureFixture[str]) -> None:
    status, _, content = inside.ask("GET", address.replace("KEY", inside.review.suspects.key).replace(" ", "%20"))
    assert 400 <= status < 500 or address.startswith("/api/items?at=0") or status == 307
    assert b"Traceback" not in content and capfd.readouterr().err == ""


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "FOO", "get", "CONNECT"])
def test_methods(inside: Served, method: str, capfd: pytest.CaptureFixture[str]) -> None:
    for path in (
        "/",
        "/api/run",
        "/api/suspects?from=0",
        "/api/decisions",
        "/api/undo",
        "/api/patch",
        "/page/main.js",
    ):
        status, headers, _ = inside.ask(method, path, b"{}")
        assert 400 <= status < 500 and "access-control-allow-origin" not in headers
    assert inside.review.store.history() == [] and capfd.readouterr().err == ""


def test_head_has_no_body(inside: Served) -> None:
    for path in ("/", "/api/run", "/api/suspects?from=0", "/page/main.js", "/api/items?at=0"):
        status, _, content = inside.ask("HEAD", path)
        assert status == 200 and content == b""


HEAD = "POST /api/decisions HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nCookie: COOKIE\r\n"
JSON = "Content-Type: application/json\r\n"
BODY = _body().decode()
RAW = {
    **{
        f"length {length}": f"{HEAD}{JSON}Content-Length: {length}\r\n\r\n{BODY}"
        for length in ("-1", "+5", "0x10", "5, 6", "1e3", "", "9" * 30, "1 1", str(1 << 40))
    },
    "two lengths": f"{HEAD}{JSON}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{BODY}",
    "no length": f"{HEAD}{JSON}\r\n{BODY}",
    "chunks": f"{HEAD}{JSON}Transfer-Encoding: chunked\r\n\r\n{len(BODY):x}\r\n{BODY}\r\n0\r\n\r\n",
    "bad chunks": f"{HEAD}{JSON}Transfer-Encoding: chunked\r\n\r\nzz\r\n{BODY}\r\n0\r\n\r\n",
    "huge chunk": f"{HEAD}{JSON}Transfer-Encoding: chunked\r\n\r\n{'f' * 30}\r\n",
    "chunks and length": f"{HEAD}{JSON}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "another coding": f"{HEAD}{JSON}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "compressed": f"{HEAD}{JSON}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
    "large header": f"GET /api/run HTTP/1.1\r\nHost: HOST\r\nX: {'x' * 100_000}\r\n\r\n",
    "many headers": "GET /api/run HTTP/1.1\r\nHost: HOST\r\n" + "X: y\r\n" * 20_000 + "\r\n",
    "long address": f"GET /{'x' * 100_000} HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "folded header": "GET / HTTP/1.1\r\nHost: HOST\r\n folded\r\n\r\n",
    "space in header": "GET / HTTP/1.1\r\nHost : HOST\r\n\r\n",
    "bytes in header": "GET / HTTP/1.1\r\nHost: HOST\r\nCookie: \xff\xfe=\xed\xa0\x80\r\n\r\n",
    "null in header": "GET / HTTP/1.1\r\nHost: HOST\r\nX: a\0b\r\n\r\n",
    "HTTP/0.9": "GET /\r\n\r\n",
    "HTTP/9.9": "GET / HTTP/9.9\r\nHost: HOST\r\n\r\n",
    "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "other address": "GET http://evil.example/api/run HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "star": "OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "bytes in address": "GET /\xff HTTP/1.1\r\nHost: HOST\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "nothing": "\r\n" * 50 + "x",
    "web socket": "GET / HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "continue": f"{HEAD}{JSON}Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n",
    "garbage after an answer": "GET /page/main.js HTTP/1.1\r\nHost: HOST\r\n\r\n\0\0\0\0garbage\r\n\r\n",
}


@pytest.mark.parametrize("name", RAW)
def test_bytes_that_are_no_request(inside: Served, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    sent = RAW[name].replace("HOST", inside.host).replace("COOKIE", inside.cookie).encode("latin-1")
    answered = b""
    with socket.create_connection(("127.0.0.1", inside.port), timeout=60) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        try:
            while received := connection.recv(65536):
                answered += received
        except ConnectionResetError:
            pass
    statuses = [int(line.split()[1]) for line in answered.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
    assert all(400 <= status < 500 for status in statuses if status != 100)
    assert b"Traceback" not in answered and inside.review.store.history() == []
    assert capfd.readouterr().err == ""
    assert inside.get("/api/changes?since=0")["changes"] == []  # and it goes on


def test_a_body_that_ends_early_stores_nothing(inside: Served, capfd: pytest.CaptureFixture[str]) -> None:
    head = HEAD.replace("HOST", inside.host).replace("COOKIE", inside.cookie)
    with socket.create_connection(("127.0.0.1", inside.port), timeout=60) as connection:
        connection.sendall(f"{head}{JSON}Content-Length: {len(BODY) + 1}\r\n\r\n{BODY}".encode())
    assert inside.get("/api/changes?since=0")["changes"] == []
    assert capfd.readouterr().err == ""


def test_an_error_of_ours_is_an_answer_too(
    inside: Served, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyError("secret of the program")

    monkeypatch.setattr(type(inside.review), "items", fail)
    status, _, content = inside.ask("GET", "/api/items?at=0")
    assert status == 500 and json.loads(content) == {"error": "unexpected KeyError"}
    assert capfd.readouterr().err == ""
