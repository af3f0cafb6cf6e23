"""The page after a restart of the browser, and what an export says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Playwright, expect

from eigenclean.cli.app import run as eigenclean
from eigenclean.patch import Patch
from eigenclean.review import Review

OpenPage = Callable[..., Any]


def judged(page: Page, n: int) -> None:
    expect(page.locator("#progress-text")).to_contain_text(f"{n} of ")


@pytest.mark.slow
def test_the_page_opens_again_after_a_restart_of_the_browser(
    opened: Review, serving: Callable[[Review], Any], playwright: Playwright, chromium: str, tmp_path: Path
) -> None:
    served = serving(opened)
    for number, address in enumerate((served.guard.link, f"http://{served.host}/", served.guard.link)):
        context = playwright.chromium.launch_persistent_context(
            tmp_path / "profile", executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = context.pages[0]
        page.goto(address)  # the second time without the link: the cookie is still there
        judged(page, number)
        page.keyboard.press("k")
        judged(page, number + 1)
        context.close()
    assert served.links == []  # nothing had to be printed


def test_export_says_where_the_patch_is_and_what_to_type(
    opened: Review, serving: Callable[[Review], Any], open_page: OpenPage, digits: Path
) -> None:
    served = serving(opened)
    page = open_page(served.guard.link).page
    judged(page, 0)
    status, _, content = served.ask("POST", "/api/export", {}, {"Cookie": _cookies(page)})
    assert status == 409 and b"review some labels first" in content
    page.keyboard.press("k")
    judged(page, 1)
    with page.expect_download():
        page.get_by_role("button", name="Export").click()
    path = opened.folder / "patch.jsonl"
    expect(page.locator("#notice")).to_contain_text(f"1 decision: 1 keep, written to {path}")
    expect(page.locator("#notice pre")).to_contain_text(f"eigenclean patch diff digits.npz {path}")
    assert Patch.load(path).decision.tolist() == ["keep"]
    page.keyboard.press("k")  # the notice does not stand in the way
    judged(page, 2)
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.locator("#notice")).to_be_hidden()
    assert eigenclean(["patch", "diff", str(digits / "digits.npz"), str(path)]) == 0


def _cookies(page: Page) -> str:
    return "; ".join(f"{c['name']}={c['value']}" for c in page.context.cookies())


def test_export_of_a_single_file_names_the_folder_of_downloads(
    run: Path, open_page: OpenPage, tmp_path: Path
) -> None:
    assert eigenclean(["review", str(run), "--export", str(tmp_path / "review.html"), "--most", "3"]) == 0
    page = open_page((tmp_path / "review.html").as_uri()).page
    judged(page, 0)
    page.keyboard.press("k")
    judged(page, 1)
    with page.expect_download():
        page.get_by_role("button", name="Export").click()
    expect(page.locator("#notice")).to_contain_text("look in its folder of downloads")
    expect(page.locator("#notice pre")).to_contain_text("eigenclean patch apply digits.npz patch.jsonl --in-place")
