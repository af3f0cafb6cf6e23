"""Runs to review, and servers to review them with."""

import http.client
import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Playwright, expect, sync_playwright
from sklearn.datasets import load_digits

from eigenclean.cli.app import run as eigenclean
from eigenclean.noise import add_noise
from eigenclean.review import Review
from eigenclean.review.app import make_app
from eigenclean.review.guard import Guard
from eigenclean.review.limits import Limits
from eigenclean.review.serve import LIMITS, listen, make_server

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "' onmouseover='alert(3)",
    "</script><!-- {{ 7 * 7 }}",
    "قطة → كلب",
    "\u202egnp.exe",
    "y" * 300,
)


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `eigenclean detect` on 700 digits with images, a fifth of them mislabelled; not to be changed."""
    folder = tmp_path_factory.mktemp("digits")
    data: Any = load_digits()
    labels = add_noise(data.target[:700], rate=0.2)
    np.savez(
        folder / "digits.npz",
        features=data.data[:700].astype(np.float32),
        labels=labels,
        images=data.images[:700].astype(np.uint8),
        truth=data.target[:700],
    )
    assert eigenclean(["detect", str(folder / "digits.npz"), "--out", str(folder / "run"), "--no-report"]) == 0
    Review.open(folder / "run").close()  # compares suspects and trusted samples, once for all tests
    return folder


@pytest.fixture(scope="session")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on texts in which everything that a user may write is hostile."""
    folder = tmp_path_factory.mktemp("mails")
    rng = np.random.default_rng(0)
    right = rng.integers(0, len(HOSTILE), 400)
    features = 3 * rng.standard_normal((len(HOSTILE), 12))[right] + rng.standard_normal((400, 12))
    given = np.where(rng.random(400) < 0.2, rng.integers(0, len(HOSTILE), 400), right)
    np.savez(
        folder / "mails.npz",
        features=features.astype(np.float32),
        labels=np.array(HOSTILE)[given],
        texts=np.array([f"{HOSTILE[i % len(HOSTILE)]} text {i}" for i in range(400)]),
        ids=np.array([f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(400)]),
    )
    assert eigenclean(["detect", str(folder / "mails.npz"), "--out", str(folder / "run"), "--no-report"]) == 0
    return folder


@pytest.fixture
def run(digits: Path, tmp_path: Path) -> Path:
    """A copy of the digits run that a test may write to; the data stay where they are."""
    return Path(shutil.copytree(digits / "run", tmp_path / "run"))


@pytest.fixture
def opened(run: Path) -> Iterator[Review]:
    review = Review.open(run)
    yield review
    review.close()


class Served:
    """A server inside this process, and requests as anyone could send them."""

    def __init__(self, review: Review, limits: Limits = LIMITS) -> None:
        self.review = review
        self.links: list[str] = []
        self._socket = listen(0)
        self.port = self._socket.getsockname()[1]
        self.guard = Guard(make_app(review, reviewer="Ada"), port=self.port, announce=self.links.append)
        self._server = make_server(self.guard, limits)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        self.cookie = ""

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str | None] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and content; headers are the page's own unless some are replaced (None: left out)."""
        usual: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie or None}
        content = None
        if method not in ("GET", "HEAD"):
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            usual |= {
                "Origin": f"http://{self.host}",
                "Content-Type": "application/json",
                "Content-Length": str(len(content)),
            }
        sent = {name: value for name, value in (usual | (headers or {})).items() if value is not None}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders(content)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def enter(self) -> None:
        """As the browser does: exchange the link for the cookie."""
        status, headers, content = self.ask("GET", "/?" + self.guard.link.partition("?")[2])
        assert status == 200 and b"0; url=/" in content and b"token" not in content
        self.cookie = headers["set-cookie"].partition(";")[0]

    def get(self, path: str) -> Any:
        status, _, content = self.ask("GET", path)
        assert status == 200, content
        return json.loads(content)

    def post(self, path: str, body: Any) -> Any:
        status, _, content = self.ask("POST", path, body)
        assert status == 200, content
        return json.loads(content)


@pytest.fixture
def serving() -> Iterator[Callable[[Review], Served]]:
    """Serve an opened run."""
    started: list[Served] = []

    def _serve(review: Review) -> Served:
        started.append(Served(review))
        return started[-1]

    yield _serve
    for server in started:
        server.stop()


@pytest.fixture(scope="module")
def listening(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The digits run, being served for all tests of a file."""
    review = Review.open(shutil.copytree(digits / "run", tmp_path_factory.mktemp("served") / "run"))
    server = Served(review)
    yield server
    server.stop()
    review.close()


@pytest.fixture
def served(listening: Served) -> Served:
    """The same, to someone who has no cookie yet."""
    listening.cookie = ""
    listening.links.clear()
    return listening


@pytest.fixture
def inside(served: Served) -> Served:
    """The same after the link was opened."""
    served.enter()
    return served


class Command:
    """`eigenclean review` as people start it: a process of its own that can be killed."""

    def __init__(self, folder: Path, *options: str, port: int | None = None) -> None:
        self.port = free_port() if port is None else port
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "eigenclean",
                "review",
                str(folder),
                "--no-browser",
                "--port",
                str(self.port),
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.link = self.process.stdout.readline().strip().removeprefix("Review at ")
        assert self.link.startswith(f"http://127.0.0.1:{self.port}/?token="), self.process.communicate()

    def kill(self) -> None:
        """As kill -9 does: no time for last words."""
        self.process.kill()
        self.process.communicate(timeout=60)


@pytest.fixture
def start() -> Iterator[Callable[..., Command]]:
    started: list[Command] = []

    def _start(folder: Path, *options: str, port: int | None = None) -> Command:
        started.append(Command(folder, *options, port=port))
        return started[-1]

    yield _start
    for command in started:
        if command.process.poll() is None:
            command.kill()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


# The browser.

FLAGS = (
    "--no-sandbox --disable-gpu --disable-background-networking "
    "--disable-component-update --disable-sync --no-first-run"
)


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        pytest.fail("The review page is tested in a real browser: please install chromium or google-chrome.")
    yield executable


@pytest.fixture(scope="module")  # not longer: there may be one at a time, and other folders have theirs
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def browser(chromium: str, playwright: Playwright) -> Iterator[Browser]:
    expect.set_options(timeout=60_000)  # what a page shows is tested, not how fast a busy machine draws it
    browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS.split())
    yield browser
    browser.close()


class Watched:
    """A page, and everything it did that it should not."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._refuse)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def _refuse(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Watched]]:
    """Open an address in a browser of its own, or in that of another page; complaints are failures at the end."""
    contexts: list[BrowserContext] = []
    opened: list[Watched] = []

    def _open_page(address: str, beside: Watched | None = None, **options: Any) -> Watched:
        if beside is None:
            options.setdefault("viewport", {"width": 1280, "height": 800})
            contexts.append(browser.new_context(**options))
        context = contexts[-1] if beside is None else beside.page.context
        opened.append(Watched(context, address))
        return opened[-1]

    yield _open_page
    for watched in opened:
        assert watched.complaints == []
        host = watched.page.url.split("/")[2] if watched.page.url.startswith("http") else ""
        for address in watched.requests:
            assert address.startswith(("data:", "blob:", "file:")) or address.split("/")[2] == host
    for context in contexts:
        context.close()
