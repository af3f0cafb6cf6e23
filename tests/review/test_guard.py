"""Attacks on the server, as other users of the machine and other pages of the browser could make them."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

Served = Any  # of conftest.py

DECISION = {
    "decisions": [{"item": 0, "state": "keep", "base": 0}],
    "action": "a",
    "request": "r",
    "reviewer": "Eve",
}
EVERYTHING = [
    "/",
    "/page/main.js",
    "/api/run",
    "/api/items?at=0",
    "/api/groups?column=0",
    "/api/map",
    "/api/changes?since=0",
    "/api/patch",
    "/favicon.ico",
    "/nothing",
]


def untouched(served: Served) -> bool:
    return bool(served.review.store.history() == [])


# Without the link.


@pytest.mark.parametrize("path", EVERYTHING)
def test_nobody_gets_in_without_the_cookie(served: Served, path: str) -> None:
    row = served.review.suspects.rows[0]
    for address in (path, f"/picture/{served.review.suspects.key}/{row}"):
        status, headers, content = served.ask("GET", address)
        assert status == 403
        assert b"digits" not in content and "set-cookie" not in headers


@pytest.mark.parametrize("path", ["/api/decisions", "/api/undo", "/api/export"])
def test_nobody_decides_without_the_cookie(served: Served, path: str) -> None:
    assert served.ask("POST", path, DECISION)[0] == 403
    assert untouched(served)


def test_a_guessed_token_or_cookie_is_refused(served: Served) -> None:
    for token in ("", "x", "%00", "A" * 43, "%C3%A9", served.guard.link.partition("=")[2][:-1]):
        assert served.ask("GET", f"/?token={token}")[0] == 403
    for cookie in ("", "x", "A" * 43, "é", '"'):
        headers = {"Cookie": f"{served.guard.cookie}={cookie}"}
        assert served.ask("GET", "/api/run", headers=headers)[0] == 403
    assert served.links == []  # whoever has never had a link does not make the terminal print one


def test_the_link_works_again_without_a_cookie(served: Served) -> None:
    """Whoever can read the terminal may come back with another browser, as long as the server runs."""
    link = served.guard.link
    served.enter()
    served.cookie = ""
    served.enter()
    assert served.ask("GET", "/")[0] == 200 and served.guard.link == link and served.links == []


def test_a_link_that_was_asked_for_works_once(served: Served) -> None:
    used = "/?" + served.guard.new_link().partition("?")[2]
    _, headers, _ = served.ask("GET", used)
    served.cookie = headers["set-cookie"].partition(";")[0]
    assert served.ask("GET", "/")[0] == 200
    thief, headers, content = served.ask("GET", used, headers={"Cookie": None})
    assert thief == 403 and "set-cookie" not in headers and b"one use" in content
    assert served.links == [served.guard.link] and used not in served.links[0]
    status, headers, content = served.ask("GET", used)  # for the browser that is in already, it just opens the page
    assert status == 200 and "set-cookie" not in headers and b"url=/" in content
    served.cookie = ""
    served.enter()


def test_the_token_is_a_key_to_the_door_only(served: Served) -> None:
    query = served.guard.link.partition("?")[2]
    for path in ("/api/run", "/page/main.js", "/api/patch"):
        assert served.ask("GET", f"{path}?{query}")[0] == 403
    assert served.ask("POST", f"/?{query}", {})[0] == 403


def test_the_cookie_is_kept_from_scripts_and_other_sites(served: Served) -> None:
    _, headers, _ = served.ask("GET", "/?" + served.guard.link.partition("?")[2])
    attributes = {attribute.strip().lower() for attribute in headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/", "max-age=2592000"} <= attributes
    assert not any(attribute.startswith("domain") for attribute in attributes)
    assert str(served.port) in headers["set-cookie"].partition("=")[0]
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"  # the token in the address goes nowhere


# DNS rebinding: the browser is made to believe that evil.example is this machine.


FOREIGN = """
evil.example
evil.example:{port}
127.0.0.1
127.0.0.1:1
0.0.0.0:{port}
localhost.evil.example:{port}
[::1]:{port}
127.0.0.1:{port}.evil.example
"""


@pytest.mark.parametrize("host", [*FOREIGN.split(), ""])
def test_foreign_hosts_are_refused_even_with_the_cookie(inside: Served, host: str) -> None:
    foreign = host.format(port=inside.port)
    status, _, content = inside.ask("GET", "/api/run", headers={"Host": foreign})
    assert status in (400, 421) and b"suspects" not in content
    headers = {"Host": foreign, "Origin": f"http://{foreign}"}
    assert inside.ask("POST", "/api/decisions", DECISION, headers)[0] in (400, 421)
    assert untouched(inside)


def test_foreign_hosts_do_not_get_the_cookie(served: Served) -> None:
    link = "/?" + served.guard.link.partition("?")[2]
    status, headers, _ = served.ask("GET", link, headers={"Host": f"evil.example:{served.port}"})
    assert status == 421 and "set-cookie" not in headers


def test_two_hosts_are_one_too_many(inside: Served) -> None:
    request = (
        f"GET /api/run HTTP/1.1\r\nHost: {inside.host}\r\nHost: evil.example\r\nCookie: {inside.cookie}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", inside.port), timeout=60) as connection:
        connection.sendall(request.encode())
        assert connection.recv(65536).split()[1] in (b"400", b"421")


def test_no_host_at_all_is_refused(inside: Served) -> None:
    with socket.create_connection(("127.0.0.1", inside.port), timeout=60) as connection:
        connection.sendall(f"GET /api/run HTTP/1.0\r\nCookie: {inside.cookie}\r\n\r\n".encode())
        assert connection.recv(65536).split()[1] in (b"400", b"421")


# Request forgery: a page elsewhere sends requests, and the browser adds the cookie.


ORIGINS = """
null
http://evil.example
http://127.0.0.1:1
https://127.0.0.1:{port}
http://localhost:{port}
http://127.0.0.1:{port}.evil.example
"""


@pytest.mark.parametrize("origin", [*ORIGINS.split(), None])
@pytest.mark.parametrize("path", ["/api/decisions", "/api/undo", "/api/export"])
def test_forged_changes_are_refused(inside: Served, origin: str | None, path: str) -> None:
    headers = {"Origin": None if origin is None else origin.format(port=inside.port)}
    assert inside.ask("POST", path, DECISION, headers)[0] == 403
    assert untouched(inside)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
def test_forms_cannot_decide(inside: Served, kind: str | None) -> None:
    """What a form can send without asking the server first is not JSON by its own account."""
    assert inside.ask("POST", "/api/decisions", DECISION, {"Content-Type": kind})[0] == 403
    assert untouched(inside)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/api/run", "/api/patch", "/page/main.js"])
def test_other_pages_cannot_read(inside: Served, site: str, path: str) -> None:
    """Another server on this machine is the same site: the browser sends the cookie along."""
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert inside.ask("GET", path, headers=headers)[0] == 403
    assert inside.ask("GET", path, headers={"Origin": "http://127.0.0.1:1"})[0] == 403
    status, answered, _ = inside.ask("OPTIONS", path, {}, {"Access-Control-Request-Method": "POST"})
    assert status == 405 and not any(name.startswith("access-control") for name in answered)


def test_get_changes_nothing(inside: Served) -> None:
    for path in ("/api/decisions", "/api/undo", "/api/export"):
        for method in ("GET", "HEAD"):
            assert inside.ask(method, path)[0] == 405
    assert untouched(inside)


# Files: only what the run and the page consist of.


PATHS = """
../app.py
..%2fapp.py
%2e%2e/app.py
..%5capp.py
/etc/passwd
%2fetc%2fpasswd
main.js%00.html
....//app.py
.
review.sqlite
../../run/review.sqlite
main.js/../../app.py
MAIN.JS
"""


@pytest.mark.parametrize("name", [*PATHS.split(), ""])
def test_no_path_leads_to_a_file(inside: Served, name: str) -> None:
    for prefix in ("/page/", "/", "/picture/", f"/picture/{inside.review.suspects.key}/", "/small/"):
        if prefix + name == "/":
            continue
        status, _, content = inside.ask("GET", prefix + name)
        assert status == 404
        assert b"import" not in content and b"root:" not in content and b"SQLite" not in content


def test_no_file_is_opened_for_a_request(inside: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked for, the file system is not: page and images are in memory, or mapped."""
    import builtins
    import io

    opened: list[Any] = []

    def noted(real: Any) -> Any:
        def call(file: Any, *rest: Any, **options: Any) -> Any:
            opened.append(file)
            return real(file, *rest, **options)

        return call

    for module in (builtins, io, os):
        monkeypatch.setattr(module, "open", noted(module.open))
    key, row = inside.review.suspects.key, inside.review.suspects.rows[3]
    for path in (
        *EVERYTHING,
        "/page/../app.py",
        f"/picture/{key}/{row}",
        f"/small/{key}/{row}",
        f"/small/{key}/999999",
    ):
        inside.ask("GET", path)
    assert opened == []


def test_images_of_samples_that_are_not_shown_are_not_served(inside: Served) -> None:
    review = inside.review
    assert review.explanation is not None
    shown = {*review.suspects.rows.tolist(), *review.explanation.neighbour_rows().tolist()}
    hidden = next(row for row in range(len(review.suspects.verdict)) if row not in shown)
    key, row = review.suspects.key, int(review.suspects.rows[0])
    assert inside.ask("GET", f"/picture/{key}/{row}")[0] == 200
    for path in (
        f"/picture/{key}/{hidden}",
        f"/picture/{key}/-1",
        f"/picture/{key}/{10**30}",
        f"/picture/other/{row}",
    ):
        assert inside.ask("GET", path)[0] == 404


# What every answer carries.


@pytest.mark.parametrize("path", [*EVERYTHING, "/?token=wrong"])
def test_every_answer_has_the_headers(inside: Served, path: str) -> None:
    for cookie in (inside.cookie, None):
        _, headers, _ = inside.ask("GET", path, headers={"Cookie": cookie})
        policy = {rule.split()[0]: rule.split()[1:] for rule in headers["content-security-policy"].split(";")}
        assert policy["default-src"] == ["'none'"]
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == ["'self'"]
        assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == ["'none'"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


# Requests that are too large, or are not what they say.


def test_large_requests_are_refused(inside: Served) -> None:
    assert inside.ask("POST", "/api/decisions", b"x" * (2 << 20))[0] == 413
    assert (
        inside.ask("POST", "/api/decisions", b"{}", {"Content-Length": None, "Transfer-Encoding": "chunked"})[0]
        == 413
    )
    assert untouched(inside)


NONSENSE: list[dict[str, Any]] = [
    *({"item": item} for item in (-1, 10**9, "0", True, None)),
    *({"state": state} for state in ("nonsense", None, "relabel", {"a": 1})),
    *({"state": "relabel", "label": label} for label in (10**9, -1, "cat", True)),
    {"base": "0"},
    {"label": 3},
]


@pytest.mark.parametrize("change", NONSENSE)
def test_nonsense_is_refused_in_one_sentence(inside: Served, change: dict[str, Any]) -> None:
    body = {**DECISION, "decisions": [{"item": 0, "state": "keep", "base": 0, **change}]}
    status, headers, content = inside.ask("POST", "/api/decisions", body)
    assert status == 400 and headers["content-type"] == "application/json"
    assert content.startswith(b'{"error":') and b"Traceback" not in content
    assert untouched(inside)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"decisions": []}', b'{"request": 7, "action": "a"}'],
)
def test_broken_json_is_refused(inside: Served, body: bytes) -> None:
    assert inside.ask("POST", "/api/decisions", body)[0] == 400
    assert inside.ask("POST", "/api/undo", body)[0] == 400
    assert untouched(inside)


QUERIES = [
    "/api/items",
    *(f"/api/items?at={at}" for at in ("", "-1", "x", "999999999", "0," * 200, "%D9%A3")),
    *(
        f"/api/groups{column}"
        for column in ("", "?column=", "?column=-1", "?column=x", "?column=0", "?column=%D9%A3")
    ),
    *(f"/api/changes?since={since}" for since in ("", "x", "-1", "99999999999999999999")),
]


@pytest.mark.parametrize("query", QUERIES)
def test_queries_are_numbers(inside: Served, query: str) -> None:
    assert inside.ask("GET", query)[0] == 400


# Where it listens.


def test_it_listens_on_this_machine_alone(served: Served) -> None:
    assert served._socket.getsockname()[0] == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in [*others, "127.0.0.2"]:
        with socket.socket() as probe:
            probe.settimeout(2)
            assert probe.connect_ex((str(address), served.port)) != 0


def test_there_is_no_option_to_listen_elsewhere() -> None:
    done = subprocess.run([sys.executable, "-m", "eigenclean", "review", "--help"], capture_output=True, text=True)
    assert "--port" in done.stdout and "host" not in done.stdout.lower()


def test_the_file_of_decisions_is_made_where_the_run_is(opened: Any, run: Path) -> None:
    assert opened.store.path == run / "review.sqlite"


_BROWSER = """#!{python}
import os, pathlib, sys
from urllib.parse import unquote, urlparse
door = pathlib.Path(unquote(urlparse(sys.argv[1]).path))
told = pathlib.Path({told!r})
told.with_suffix(".tmp").write_text("\\n".join([sys.argv[1], oct(os.stat(door).st_mode & 0o777), door.read_text()]))
told.with_suffix(".tmp").rename(told)
"""


def test_the_token_is_not_among_the_arguments_of_the_browser(run: Path, tmp_path: Path) -> None:
    """Any user of the machine can list the processes of the others, with their arguments."""
    browser, told = tmp_path / "browser", tmp_path / "told.txt"
    browser.write_text(_BROWSER.format(python=sys.executable, told=str(told)))
    browser.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-m", "eigenclean", "review", str(run), "--port", "0"],
        env={**os.environ, "BROWSER": f"{browser} %s"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        link = process.stdout.readline().split()[-1]
        end = time.monotonic() + 60
        while not told.exists() and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    argument, mode, content = told.read_text().split("\n", 2)
    assert argument.startswith("file://") and link.partition("=")[2] not in argument
    assert mode == "0o600" and link in content
    assert not (run / "open-review.html").exists()  # and it is gone with the server
