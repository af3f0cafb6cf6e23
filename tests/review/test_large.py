"""A hundred thousand suspects: the page opens, scrolls and saves as it does with ten."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from eigenclean.review import Review
from eigenclean.sources import open_source
from eigenclean.sources.record import source_record
from eigenclean.verdict import Verdict

N, SUSPECTS, CLASSES = 112_000, 100_000, 40


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    codes = rng.integers(0, CLASSES, N)
    names = np.array([f"class {k:03d}" for k in range(CLASSES)])
    features = rng.standard_normal((CLASSES, 8), dtype=np.float32)[codes] + rng.standard_normal(
        (N, 8), dtype=np.float32
    )
    images = rng.integers(0, 256, (N, 8, 8), dtype=np.uint8)
    np.savez(folder / "large.npz", features=features, labels=names[codes], images=images)
    p_clean = rng.random(N)
    flagged = np.argsort(np.argsort(p_clean)) < SUSPECTS
    verdict = Verdict(
        ids=np.arange(N),
        labels=names[codes],
        score=p_clean,
        p_clean=p_clean,
        flagged=flagged,
        suggested=names[np.where(flagged, (codes + rng.integers(1, CLASSES, N)) % CLASSES, codes)],
        suggested_confidence=1 - p_clean,
        made_by="test",
    )
    path = str(folder / "large.npz")
    verdict.save(folder / "run", data_hash=open_source(path).data_hash(), source=source_record(path))
    return folder / "run"


def test_a_hundred_thousand_suspects(
    large: Path, look: Callable[..., Any], serving: Callable[[Review], Any]
) -> None:
    review = Review.open(large)
    page: Page = look(serving(review).guard.link).page
    rows = page.locator("#list [role=option]")
    expect(rows.first).to_be_visible(timeout=30_000)
    expect(page.locator("#shown")).to_have_text("100\u202f000 suspects")

    # Only what is seen exists.
    assert rows.count() < 40
    page.evaluate("document.getElementById('list').scrollTop = 1e9")
    expect(page.locator(f"#row-{SUSPECTS - 1}")).to_be_visible()
    assert rows.count() < 40
    page.keyboard.press("g")
    cells = page.locator("#cells [role=option]")
    expect(cells.first).to_be_visible()
    page.evaluate("document.getElementById('cells').scrollTop = 1e9")
    expect(page.locator(f"#cell-{SUSPECTS - 1}")).to_be_visible()
    assert cells.count() < 120
    page.keyboard.press("g")

    # From the key to the page that says "saved" and shows the next one.
    for _ in range(20):
        page.evaluate(_TRIP)
    assert len(review.decisions()) == 20
    page.locator("#filter-pair").select_option("given:7")
    expect(page.locator("#shown")).to_contain_text("of 100\u202f000 suspects")
    page.locator("#filter-pair").select_option("")

    # A sweep over all that are shown: many requests, one action, one undo.
    page.locator("#filter-pair").select_option(index=1)  # the most frequent pair
    page.keyboard.press("g")
    n = page.evaluate("Number(document.getElementById('select-all').textContent.match(/\\d+/)[0])")
    page.get_by_role("button", name="Select all").click()
    page.keyboard.press("a")
    expect(page.locator("#progress-text")).not_to_have_text("20 of 100\u202f000 judged")
    page.keyboard.press("u")
    expect(page.locator("#progress-text")).to_have_text("20 of 100\u202f000 judged")
    assert len(review.store.history()) > 20 and n > 10
    review.close()


_TRIP = """() => new Promise((done, fail) => {
  const said = () => document.getElementById("live").textContent;
  const before = said(), started = performance.now();
  const watch = () => {
    if (said() !== before && said().startsWith("Saved")) done();
    else if (performance.now() - started > 20000) fail(new Error(said()));
    else setTimeout(watch, 1);
  };
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "k", bubbles: true }));
  watch();
})"""


def test_many_decisions_are_read_and_undone_as_one_action(tmp_path: Path) -> None:
    from eigenclean.review.store import FILE, KEEP, Change, Store

    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        for start in range(0, 20_000, 5000):
            changes = [Change(id, "cat", KEEP) for id in range(start, start + 5000)]
            store.record(changes, reviewer="Ada", action="sweep", request=f"sweep/{start}")
        assert len(store.current()) == 20_000
        assert len(store.undo(reviewer="Ada", request="undo").entries) == 20_000
        assert len(store.since(39_990)) == 10
