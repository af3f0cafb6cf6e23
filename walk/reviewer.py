"""A reviewer who is always right: opens the review page in a real browser and decides by keyboard."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from walk.program import Broken

FLAGS = "--no-sandbox --disable-gpu --disable-background-networking --disable-sync --no-first-run"
PHONE, DESKTOP = ViewportSize(width=390, height=844), ViewportSize(width=1280, height=800)
WAIT = 60_000  # milliseconds; a busy machine may need most of it


@contextmanager
def browser() -> Iterator[Browser]:
    """The browser of this machine, without a window."""
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None:
        raise Broken("the walk needs a browser: please install chromium or google-chrome")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=FLAGS.split())
        yield opened
        opened.close()


@dataclass
class Reviewer:
    """Decides about the first suspects: relabels what is wrong, keeps what is right, as the truth says."""

    browser: Browser
    truth: Mapping[str, str]

    def decide(self, link: str, most: int = 12) -> int:
        """Decide about at most so many suspects; return how many."""
        page = self.browser.new_page(viewport=DESKTOP)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.goto(link)
        expect(page.locator("#change")).to_be_visible(timeout=WAIT)
        number, n_suspects = 0, int(page.locator("#list [role=option]").first.get_attribute("aria-setsize") or 0)
        while number < min(most, n_suspects):
            self._decide(page)
            number += 1
            expect(page.locator("#progress-text")).to_contain_text(f"{number} of ", timeout=WAIT)
        page.set_viewport_size(PHONE)
        width = page.evaluate("document.documentElement.scrollWidth")
        page.close()
        if width > PHONE["width"]:
            raise Broken(f"the review page is {width} pixels wide on a phone of {PHONE['width']}")
        if complaints:
            raise Broken(f"the review page complained: {complaints[0]}")
        return number

    def _decide(self, page: Page) -> None:
        """About the suspect that is shown: keep it, accept the suggestion, or type another label."""
        right = self.truth[page.locator("#meta bdi").first.inner_text()]
        proposed = page.locator("#change .proposed")
        if page.locator("#change .given").inner_text() == right:
            page.keyboard.press("k")
        elif proposed.count() and proposed.inner_text() == right:
            page.keyboard.press("a")
        else:
            page.keyboard.press("o")
            page.keyboard.type(right)
            page.keyboard.press("Enter")
