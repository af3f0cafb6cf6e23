"""kill -9 of the server, or of the browser, in the middle of the work: what was confirmed is there."""

import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, Playwright, expect

from eigenclean.cli.app import run as eigenclean
from eigenclean.patch import Patch
from eigenclean.review import Review
from eigenclean.sources import open_source

Start = Callable[..., Any]
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")

WORST = ("--order", "worst")


def judged(page: Page, n: int) -> None:
    expect(page.locator("#progress-text")).to_contain_text(f"{n} of ", timeout=20_000)


def decided(folder: Path) -> dict[int, str]:
    review = Review.open(folder)
    try:
        return {d["item"]: d["state"] for d in review.decisions() if d["state"] != "open"}
    finally:
        review.close()


@pytest.mark.slow
def test_from_the_first_suspect_to_corrected_labels_over_a_dead_server(
    digits: Path, run: Path, start: Start, browser: Any, tmp_path: Path
) -> None:
    server = start(run, *WORST)
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(server.link)
    judged(page, 0)
    for n in range(1, 9):
        page.keyboard.press("a")
        judged(page, n)

    server.kill()
    page.keyboard.press("k")
    expect(page.locator("#banner")).to_contain_text("Not saved yet: the server does not answer")
    judged(page, 8)  # the page claims nothing
    assert decided(run) == dict.fromkeys(range(8), "relabel")

    again = start(run, *WORST, port=server.port)
    expect(page.locator("#banner")).to_contain_text("was started anew", timeout=20_000)
    judged(page, 8)  # the new server does not know this browser yet
    context.new_page().goto(again.link)  # as `eigenclean review` itself does
    page.bring_to_front()
    judged(page, 9)  # the old page goes on by itself, and what was waiting is saved once
    expect(page.locator("#banner")).to_be_hidden()
    for n in range(10, 21):
        page.keyboard.press("a" if n % 5 else "t")
        judged(page, n)
    page.keyboard.press("u")
    judged(page, 19)

    again.kill()
    context.close()
    expected = {n - 1: "keep" if n == 9 else "relabel" if n < 9 or n % 5 else "unsure" for n in range(1, 20)}
    assert decided(run) == expected

    third = start(run, *WORST)
    page = browser.new_context().new_page()
    page.goto(third.link)
    judged(page, 19)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
    waiting.value.save_as(tmp_path / "patch.jsonl")
    page.context.close()
    third.process.send_signal(signal.SIGINT)
    out, _ = third.process.communicate(timeout=60)
    assert third.process.returncode == 0 and "19 of " in out

    patch = Patch.load(tmp_path / "patch.jsonl")
    assert patch.counts() == {"relabel": 16, "keep": 1, "remove": 0, "unsure": 2}
    data, fixed = digits / "digits.npz", tmp_path / "fixed.npz"
    assert eigenclean(["patch", "apply", str(data), str(tmp_path / "patch.jsonl"), "--out", str(fixed)]) == 0
    before, after = open_source(str(data)), open_source(str(fixed))
    changed = patch.is_("relabel")
    expected_labels = before.labels.copy()
    expected_labels[np.searchsorted(before.ids, patch.ids[changed])] = patch.new[changed]
    np.testing.assert_array_equal(after.labels, expected_labels)
    truth = np.load(data)["truth"]
    assert np.count_nonzero(after.labels == truth) > np.count_nonzero(before.labels == truth)


class Killable:
    """A browser of our own with a profile on the disk."""

    def __init__(self, playwright: Playwright, chromium: str, profile: Path, address: str) -> None:
        (profile / "SingletonLock").unlink(missing_ok=True)
        self._profile = profile
        self._context = playwright.chromium.launch_persistent_context(profile, executable_path=chromium, args=FLAGS)
        self.page = self._context.pages[0]
        self.page.goto(address)

    def kill(self) -> None:
        """All its processes at once, as if the power had gone."""
        for process in self._processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with contextlib.suppress(PlaywrightError):
            self._context.close()

    def _processes(self) -> list[int]:
        profile = os.fsencode(self._profile)
        pids = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if profile in (folder / "cmdline").read_bytes():
                    pids.append(int(folder.name))
        assert pids
        return pids


def test_kill_9_of_the_browser_loses_nothing(
    opened: Review, serving: Start, playwright: Playwright, chromium: str, tmp_path: Path
) -> None:
    browser = Killable(playwright, chromium, tmp_path / "profile", serving(opened).guard.link)
    try:
        for n in range(5):
            judged(browser.page, n)
            browser.page.keyboard.press("k")
        judged(browser.page, 5)
    finally:
        browser.kill()
    assert [d["state"] for d in opened.decisions()] == ["keep"] * 5


def test_kill_9_of_the_browser_loses_nothing_of_the_single_file(
    run: Path, playwright: Playwright, chromium: str, tmp_path: Path
) -> None:
    file = tmp_path / "review.html"
    assert eigenclean(["review", str(run), "--export", str(file), "--most", "30"]) == 0
    for before in (0, 5):
        browser = Killable(playwright, chromium, tmp_path / "profile", file.as_uri())
        try:
            for n in range(before, before + 5):
                judged(browser.page, n)
                browser.page.keyboard.press("k")
            judged(browser.page, before + 5)
        finally:
            browser.kill()  # the moment that the page has confirmed the last one
