"""The review page in the frame of a notebook: a real browser, a page on another port of this machine."""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigenclean import audit
from eigenclean.workflows.audit import ReviewServer

pytestmark = pytest.mark.slow
sync_api: Any = pytest.importorskip("playwright.sync_api")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A folder whose pages are served on some port, as those of a notebook are."""
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path, server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_the_frame_shows_the_suspects_and_decides(host: str, notebook: tuple[Path, int], tmp_path: Path) -> None:
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    assert executable, "please install chromium or google-chrome"
    codes = np.arange(90) % 3
    features = np.random.default_rng(0).normal(size=(90, 4)) + 6 * np.eye(3, 4)[codes]
    result = audit(features, label=np.where(np.arange(90) < 5, (codes + 1) % 3, codes), method="knn")
    server = result.review(folder=tmp_path / "run", port=0)
    assert isinstance(server, ReviewServer)
    folder, port = notebook
    (folder / "cell.html").write_text(f"<!doctype html><body>{server._repr_html_()}", encoding="utf-8")
    try:
        with sync_api.sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(f"http://{host}:{port}/cell.html")
            frame = page.frame_locator("iframe")
            sync_api.expect(frame.locator("body")).to_contain_text("5", timeout=15_000)
            sync_api.expect(frame.locator("body")).not_to_contain_text("opens with the link")
            frame.locator("body").press("k")  # keep the first
            page.wait_for_timeout(1500)
            browser.close()
    finally:
        server.stop()
    assert len(result.patch()) == 1
