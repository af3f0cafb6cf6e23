"""Nothing that comes with a run is executed on the page."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eigenclean.review import Review
from tests.review.page.test_page import judged

OpenPage = Callable[..., Any]


def test_hostile_strings_run_nothing(
    mails: Path, open_page: OpenPage, serving: Callable[[Review], Any], tmp_path: Path
) -> None:
    review = Review.open(shutil.copytree(mails / "run", tmp_path / "run"))
    page = open_page(serving(review).guard.link).page
    judged(page, 0)
    page.evaluate("document.getElementById('reviewer').value = '<img src=x onerror=alert(9)>'")
    for n, key in enumerate("akt", start=1):
        page.keyboard.press(key)
        judged(page, n)
    page.keyboard.press("p")
    page.keyboard.press("o")
    page.keyboard.type("<")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.wait_for_timeout(300)
    assert page.locator("img, [onerror], [onmouseover]").count() == 0
    assert page.locator("script").count() == 1
    assert "<script>alert(1)</script>" in page.locator("body").inner_text()
    assert page.evaluate("Object.keys(window).filter((name) => name.includes('pwned'))") == []
    review.close()


def test_the_policy_stops_what_would_get_through(served: Any, browser: Any) -> None:
    """Were there ever a hole, the browser itself would refuse: no markup from strings, no inline script."""
    page = browser.new_context().new_page()
    page.goto(served.guard.link)
    judged(page, 0)
    for code in (
        "document.body.innerHTML = '<img src=x onerror=\"window.pwned = 1\">'",
        "const s = document.createElement('script'); s.textContent = 'window.pwned = 1'; document.body.append(s)",
        "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
    ):
        refused = page.evaluate(f"() => {{ try {{ {code}; return false; }} catch (error) {{ return true; }} }}")
        assert refused, code
    broken = page.evaluate(
        "() => new Promise((done) => { const i = new Image(); i.onerror = () => done(true);"
        " i.onload = () => done(false); i.src = 'data:image/png;base64,iVBORw0KGgo='; })"
    )
    assert broken  # images come from the server alone
    assert page.evaluate("window.pwned === undefined")
    page.context.close()
