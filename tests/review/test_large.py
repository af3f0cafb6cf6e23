"""A hundred thousand suspects: the page opens, scrolls and saves as it does with ten."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from eigenclean.patch import Patch
from eigenclean.review import Review
from eigenclean.review.store import FILE, KEEP, RELABEL, Change, Store
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


@pytest.mark.slow
def test_a_hundred_thousand_suspects(
    large: Path, open_page: Callable[..., Any], serving: Callable[[Review], Any]
) -> None:
    review = Review.open(large)
    page: Page = open_page(serving(review).guard.link).page
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
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        for start in range(0, 20_000, 5000):
            changes = [Change(id, "cat", KEEP) for id in range(start, start + 5000)]
            store.record(changes, reviewer="Ada", action="sweep", request=f"sweep/{start}")
        assert len(store.current()) == 20_000
        undone = store.undo(reviewer="Ada", request="undo", most=5000)
        assert len(undone.entries) == 5000 and undone.n_undone == 20_000
        assert len(store.undo(reviewer="Ada", request="undo").entries) == 20_000  # the same request again
        assert len(store.since(39_990)) == 10
        assert store.current_columns()["id"] == []


# Costs, counted: they must not grow faster than the work.


def run_of(folder: Path, n_suspects: int, n_decided: int) -> Path:
    """A run without its data; the decisions are written in one go, as many requests would have."""
    n = n_suspects + 100
    names = np.array([f"class {k:03d}" for k in range(CLASSES)])
    codes = np.arange(n) % CLASSES
    p_clean = np.linspace(0, 1, n)
    flagged = np.arange(n) < n_suspects
    suggested = names[np.where(flagged, (codes + 1) % CLASSES, codes)]
    ids = np.char.add("image_", np.arange(n).astype("U7"))
    fields = {"score": p_clean, "p_clean": p_clean, "suggested_confidence": 1 - p_clean}
    verdict = Verdict(ids=ids, labels=names[codes], flagged=flagged, suggested=suggested, made_by="test", **fields)
    verdict.save(folder, data_hash="0a1b")
    with Store(folder / FILE, data_hash="0a1b") as store, store._writing():
        rows = (
            ("0a1b", f'"{id}"', f'"{given}"', RELABEL, f'"{new}"', "open", "Ada", "2026-01-31T12:00:00Z", "a", "r")
            for id, given, new in zip(ids[:n_decided], names[codes], suggested, strict=False)
        )
        store._db.executemany(
            "INSERT INTO history (data_hash, id, given, state, label, old_state, reviewer, time, action, request) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
    return folder


@contextmanager
def counting(store: Store) -> Iterator[list[str]]:
    """The statements that SQLite carries out meanwhile."""
    statements: list[str] = []
    store._db.set_trace_callback(statements.append)
    yield statements
    store._db.set_trace_callback(None)


def test_two_hundred_thousand_suspects_come_in_pages(tmp_path: Path, serving: Callable[[Review], Any]) -> None:
    review = Review.open(run_of(tmp_path, 200_000, n_decided=3))
    server = serving(review)
    server.enter()
    with counting(review.store) as statements:
        facts = server.ask("GET", "/api/run")[2]
        # The last number, and the few decisions in batches, of which the last one is empty.
        assert len(facts) < 300_000 and len(statements) <= 3
    run = json.loads(facts)["run"]
    assert run["n"] == 200_000
    last = (run["n"] - 1) // run["page_size"] * run["page_size"]
    for start in (0, run["page_size"], last):
        status, _, content = server.ask("GET", f"/api/suspects?from={start}")
        page = json.loads(content)
        assert status == 200 and len(content) < 300_000
        assert page["id"][0] == f"image_{start}" and page["row"][-1] == min(start + run["page_size"], run["n"]) - 1
        assert page["state"][:4] == ([2, 2, 2, 0] if start == 0 else [0] * 4)
    assert server.ask("GET", f"/api/suspects?from={run['n']}")[0] == 400
    review.close()


@pytest.mark.parametrize("n", [100, 20_000])
def test_the_patch_takes_one_query_however_many_decisions(
    n: int, tmp_path: Path, serving: Callable[[Review], Any]
) -> None:
    review = Review.open(run_of(tmp_path, n, n_decided=n))
    server = serving(review)
    server.enter()
    with counting(review.store) as statements:
        status, headers, content = server.ask("GET", "/api/patch")
    assert status == 200 and len(statements) == 1
    assert headers["transfer-encoding"] == "chunked"  # it is sent while it is written
    (tmp_path / "p.jsonl").write_bytes(content)
    patch, expected = Patch.load(tmp_path / "p.jsonl"), review.patch()
    for field in ("ids", "decision", "old", "new", "score", "reviewer", "time"):
        np.testing.assert_array_equal(getattr(patch, field), getattr(expected, field))
    np.testing.assert_array_equal(patch.score, review.suspects.verdict.p_clean[:n])
    with counting(review.store) as statements:
        assert review.n_decided() == n
        assert len(statements) == -(-n // 10_000) + 1  # the history is read once, some at a time ...
        server.get("/api/suspects?from=0")
        review.store.record([Change("image_7", "class 007", KEEP, base=8)], reviewer="Ada", action="b")
        before = len(statements)
        assert server.get("/api/suspects?from=0")["state"][6:9] == [2, 1, 2]
        assert len(statements) - before <= 2  # ... and then what is new
    review.close()


def test_polling_reads_new_entries_only(tmp_path: Path) -> None:
    review = Review.open(run_of(tmp_path, 3000, n_decided=3000))
    with counting(review.store) as statements:
        assert [entry.seq for entry in review.store.since(2990)] == list(range(2991, 3001))
    plan = review.store._db.execute(f"EXPLAIN QUERY PLAN {statements[0]}").fetchall()
    assert [step[-1] for step in plan] == ["SEARCH history USING INTEGER PRIMARY KEY (rowid>?)"]
    review.close()
