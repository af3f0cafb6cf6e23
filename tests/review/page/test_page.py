"""The page in a real browser: everything by keyboard, everything saved, nothing foreign run."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from eigenclean.patch import Patch
from eigenclean.review import Review
from eigenclean.review.store import Change
from eigenclean.verdict import Verdict

OpenPage = Callable[..., Any]
KEYS = {"k": "keep", "a": "relabel", "t": "unsure", "r": "remove"}


def states(review: Review) -> dict[int, tuple[str, int]]:
    """What is in the file of decisions, by place in the list."""
    return {d["item"]: (d["state"], d["label"]) for d in review.decisions() if d["state"] != "open"}


def judged(page: Page, n: int) -> None:
    expect(page.locator("#progress-text")).to_contain_text(f"{n} of ")


def current(page: Page) -> int:
    active = page.locator("#list").get_attribute("aria-activedescendant")
    assert active is not None
    return int(active.removeprefix("row-"))


def expect_current(page: Page, row: int) -> None:
    """Wait until this suspect is the current one: the page moves on after it has counted a decision."""
    expect(page.locator("#list")).to_have_attribute("aria-activedescendant", f"row-{row}")


def test_twenty_suspects_by_keyboard_undo_filter_reload(served: Any, open_page: OpenPage) -> None:
    review = served.review
    page = open_page(served.guard.link).page
    expect(page.locator("#change")).to_be_visible()
    assert "token" not in page.url  # it does not stay in the address, nor in the history
    keys = "aaakatarkaaataakrkaa"
    for number, key in enumerate(keys, start=1):
        place = current(page)
        assert place == number - 1  # worst first
        page.keyboard.press(key)
        judged(page, number)
        expect(page.locator("#live")).to_contain_text("Saved")
        assert states(review)[place][0] == KEYS[key]  # the page says so because the file does
    suggested = review.suspects.suggested
    expected = {i: (KEYS[key], int(suggested[i]) if key == "a" else -1) for i, key in enumerate(keys)}
    assert states(review) == expected

    for back in (19, 18):
        page.keyboard.press("u")
        judged(page, back)
        expect_current(page, back)
        expect(page.locator("#live")).to_contain_text("Undone")
    page.keyboard.press("k")
    judged(page, 19)
    page.keyboard.press("Control+z")
    judged(page, 18)
    expected = {i: state for i, state in expected.items() if i < 18}
    assert states(review) == expected
    assert len(review.store.history()) == 24  # nothing was taken out of the history

    page.locator("#filter-state").select_option("relabel")
    shown = sum(state == "relabel" for state, _ in expected.values())
    expect(page.locator("#shown")).to_have_text(f"{shown} of {len(review.suspects)} suspects")
    expect(page.locator("#list [role=option]")).to_have_count(shown)

    page.reload()
    judged(page, 18)
    expect_current(page, 18)  # and goes on where one stopped
    page.keyboard.press("p")
    expect(page.locator("#meta")).to_contain_text("by Ada")  # asked for, since the page did not see it happen
    page.keyboard.press("n")
    page.keyboard.press("u")  # undo remembers beyond a reload
    judged(page, 17)
    assert states(review) == {i: state for i, state in expected.items() if i < 17}


def test_the_link_may_stand_on_another_page(served: Any, open_page: OpenPage, tmp_path: Path) -> None:
    """In a terminal in the browser, or in the file that the command opens: the strict cookie must come along."""
    (tmp_path / "elsewhere.html").write_text(f'<a href="{served.guard.link}">Review</a>')
    page = open_page((tmp_path / "elsewhere.html").as_uri()).page
    page.get_by_role("link").click()
    judged(page, 0)
    assert page.url == f"http://{served.host}/"


def test_every_key_does_what_the_help_says(served: Any, open_page: OpenPage) -> None:
    page = open_page(served.guard.link).page
    judged(page, 0)
    for key, place in (("n", 1), ("ArrowRight", 2), ("p", 1), ("ArrowLeft", 0), ("ArrowLeft", 0)):
        page.keyboard.press(key)
        expect_current(page, place)
    page.keyboard.press("g")
    expect(page.locator("#grid")).to_be_visible()
    page.keyboard.press("g")
    expect(page.locator("#suspect")).to_be_visible()
    page.keyboard.press("f")
    expect(page.locator("#filter-pair")).to_be_focused()
    page.locator("#stage").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("k")  # a dialog is no place to decide
    page.get_by_label("Letters decide").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    page.keyboard.press("ArrowRight")
    expect_current(page, 1)
    assert states(served.review) == {}
    page.locator("#filter-id").fill("ka")  # letters in a field are letters
    assert states(served.review) == {}


def test_another_label_is_found_by_typing(served: Any, open_page: OpenPage) -> None:
    review = served.review
    page = open_page(served.guard.link).page
    judged(page, 0)
    given = int(review.suspects.given[0])
    other = (given + 3) % 10
    page.keyboard.press("o")
    options = page.locator("#chooser-list [role=option]")
    expect(options).to_have_count(9)  # all but the given one
    assert options.first.text_content() == str(review.suspects.labels[review.suspects.suggested[0]])  # likely first
    page.keyboard.type(str(other))
    expect(options).to_have_count(1)
    page.keyboard.press("Enter")
    judged(page, 1)
    assert states(review) == {0: ("relabel", other)}
    page.keyboard.press("o")
    page.keyboard.type("no such label")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    judged(page, 1)
    page.keyboard.press("o")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    judged(page, 2)


def test_filters_select_what_they_say(served: Any, open_page: OpenPage) -> None:
    review = served.review
    suspects = review.suspects
    page = open_page(served.guard.link).page
    judged(page, 0)

    def shows(mask: Any) -> None:
        n = int(np.count_nonzero(mask))
        text = f"{n} of {len(suspects)} suspects" if n < len(suspects) else f"{n} suspects"
        expect(page.locator("#shown")).to_have_text(text)
        if n:
            expect_current(page, int(np.flatnonzero(mask)[0]))
        else:
            expect(page.locator("#empty")).to_have_text("No suspect matches.")

    pair = (suspects.given == suspects.given[0]) & (suspects.suggested == suspects.suggested[0])
    page.locator("#filter-pair").select_option(f"both:{suspects.given[0]}:{suspects.suggested[0]}")
    shows(pair)
    page.locator("#filter-band").select_option("borderline")
    shows(pair & (suspects.p_wrong < 0.75))
    page.locator("#filter-pair").select_option("")
    shows(suspects.p_wrong < 0.75)
    page.locator("#filter-band").select_option("sure")
    shows(suspects.p_wrong >= 0.95)
    page.locator("#filter-pair").select_option("given:3")
    shows((suspects.p_wrong >= 0.95) & (suspects.given == 3))
    page.locator("#filter-pair").select_option("suggested:3")
    shows((suspects.p_wrong >= 0.95) & (suspects.suggested == 3))
    page.locator("#filter-pair").select_option("")
    page.locator("#filter-band").select_option("")
    page.locator("#filter-id").fill("7")
    shows(np.array(["7" in str(id) for id in suspects.ids]))
    page.locator("#filter-id").fill("nothing")
    shows(np.zeros(len(suspects), dtype=bool))
    page.locator("#stage").focus()
    page.keyboard.press("a")  # there is nothing to decide about
    page.locator("#filter-id").fill("")
    page.locator("#filter-state").select_option("open")
    expect(page.locator("#shown")).to_have_text(f"{len(suspects)} suspects")
    page.locator("#stage").focus()
    for n in (1, 2, 3):  # what is judged leaves the list, the next one takes its place
        page.keyboard.press("k")
        judged(page, n)
        expect_current(page, n)
    assert states(review) == dict.fromkeys(range(3), ("keep", -1))


def test_a_grid_sweeps_many_at_once_and_undo_takes_them_back_together(served: Any, open_page: OpenPage) -> None:
    review = served.review
    page = open_page(served.guard.link).page
    judged(page, 0)
    page.get_by_role("button", name="Grid").click()
    cells = page.locator("#cells")
    expect(cells).to_be_focused()
    for key in ("Space", "ArrowRight", "ArrowRight", "Space", "ArrowDown", "Space"):
        page.keyboard.press(key)
    chosen = [int(c.get_attribute("data-item") or -1) for c in cells.locator("[aria-selected=true]").all()]
    assert sorted(chosen)[:2] == [0, 2] and len(chosen) == 3
    page.keyboard.press("a")
    judged(page, 3)
    assert states(review) == {i: ("relabel", int(review.suspects.suggested[i])) for i in chosen}
    cells.locator("[data-item='4']").click()
    cells.locator("[data-item='7']").click(modifiers=["Shift"])
    expect(page.locator("#selected")).to_have_text("4 suspects selected")
    page.keyboard.press("k")
    judged(page, 3 + len({4, 5, 6, 7} - set(chosen)))
    page.keyboard.press("u")
    judged(page, 3)
    page.locator("#filter-state").select_option("open")
    page.get_by_role("button", name="Select all").click()
    expect(page.locator("#selected")).to_have_text(f"{len(review.suspects) - 3} suspects selected")
    page.get_by_role("button", name="Accept all").click()
    judged(page, len(review.suspects))
    expect(page.locator("#empty")).to_be_visible()
    assert {state for state, _ in states(review).values()} == {"relabel"}
    page.keyboard.press("u")
    judged(page, 3)


def test_two_tabs_and_two_people_see_each_other(served: Any, open_page: OpenPage) -> None:
    first = open_page(served.guard.link)
    judged(first.page, 0)
    second = open_page(f"http://{served.host}/", beside=first)  # the same browser is in already
    judged(second.page, 0)
    third = open_page(served.guard.link)  # someone else, with a link of their own
    judged(third.page, 0)
    third.page.keyboard.press("?")
    third.page.get_by_label("Decisions are signed").fill("Grace")
    third.page.keyboard.press("Escape")
    first.page.keyboard.press("k")
    for watched in (second, third):
        judged(watched.page, 1)
    third.page.keyboard.press("n")
    third.page.keyboard.press("a")
    for watched in (first, second):
        judged(watched.page, 2)
    second.page.keyboard.press("n")
    expect(second.page.locator("#meta")).to_contain_text("by Grace")
    assert [entry.reviewer for entry in served.review.store.history()] == ["Ada", "Grace"]


def test_someone_elses_decision_is_not_overwritten_unseen(served: Any, open_page: OpenPage) -> None:
    page = open_page(served.guard.link).page
    judged(page, 0)
    page.route("**/api/changes*", lambda route: route.fulfill(json={"changes": [], "seq": 0}))  # it hears of nobody
    review = served.review
    review.store.record([Change(review.suspects.ids[0], 0, "keep")], reviewer="Bob", action="x")
    page.keyboard.press("a")
    expect(page.locator("#live")).to_contain_text("judged by someone else")
    judged(page, 1)
    assert states(review) == {0: ("keep", -1)}


def test_nothing_is_said_before_it_is_saved(served: Any, open_page: OpenPage) -> None:
    page = open_page(served.guard.link).page
    judged(page, 0)
    with served.review.store._lock:  # a disk that takes its time
        page.keyboard.press("a")
        page.wait_for_timeout(700)
        page.keyboard.press("a")  # impatience must not judge the next suspect unseen
        expect(page.locator("#live")).to_contain_text("Still saving")
        judged(page, 0)
        expect_current(page, 0)
    judged(page, 1)
    expect_current(page, 1)
    page.wait_for_timeout(200)
    assert states(served.review).keys() == {0}


def test_a_full_disk_is_named_and_the_decision_is_saved_when_there_is_room(
    served: Any, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = browser.new_context().new_page()  # the browser itself complains about status 503
    page.goto(served.guard.link)
    judged(page, 0)

    def refuse(*_: Any, **__: Any) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    with monkeypatch.context() as full:
        full.setattr(served.review.store, "_append", refuse)
        page.keyboard.press("k")
        expect(page.locator("#banner")).to_contain_text("Not saved yet: no space left on the disk")
        judged(page, 0)
    judged(page, 1)  # by itself
    expect(page.locator("#banner")).to_be_hidden()
    assert states(served.review) == {0: ("keep", -1)}
    page.context.close()


def test_the_patch_holds_the_decisions(served: Any, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(served.guard.link).page
    judged(page, 0)
    for n, key in enumerate("akrt", start=1):
        page.keyboard.press(key)
        judged(page, n)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
    assert waiting.value.suggested_filename == "patch.jsonl"
    waiting.value.save_as(tmp_path / "patch.jsonl")
    patch = Patch.load(tmp_path / "patch.jsonl")
    suspects, verdict = served.review.suspects, served.review.suspects.verdict
    assert patch.decision.tolist() == ["relabel", "keep", "remove", "unsure"]
    np.testing.assert_array_equal(patch.ids, verdict.ids[suspects.rows[:4]])
    np.testing.assert_array_equal(patch.old, verdict.labels[suspects.rows[:4]])
    assert patch.new[0] == verdict.suggested[suspects.rows[0]]
    np.testing.assert_allclose(patch.score, verdict.p_clean[suspects.rows[:4]])
    assert patch.data_hash == served.review.data_hash
    assert set(patch.reviewer.tolist()) == {"Ada"}


def test_a_run_without_its_source_can_still_be_judged(
    run: Path, open_page: OpenPage, serving: Callable[[Review], Any]
) -> None:
    (run / "manifest.json").unlink()  # it describes the summary as it was
    summary = json.loads((run / "summary.json").read_text())
    summary["source"] = {"name": "gone.npz", "folder": "/nowhere"}
    (run / "summary.json").write_text(json.dumps(summary))
    (run / "review.npz").unlink()
    review = Review.open(run)
    assert "gone.npz" in review.notes[0]
    page = open_page(serving(review).guard.link).page
    judged(page, 0)
    expect(page.locator("#sample")).to_contain_text("gone.npz")
    page.keyboard.press("a")
    judged(page, 1)
    page.keyboard.press("g")
    expect(page.locator("#cells [role=option]").first).to_be_visible()
    review.close()


def without_flags(run: Path) -> Verdict:
    """The run with the same probabilities, of which none is low enough for a flag."""
    verdict = Verdict.load(run)
    fields = {
        name: getattr(verdict, name) for name in ("ids", "labels", "score", "p_clean", "suggested_confidence")
    }
    calm = Verdict(**fields, flagged=np.zeros(len(verdict), dtype=bool), suggested=verdict.labels)
    (run / "manifest.json").unlink(missing_ok=True)  # it describes the verdict as it was
    calm.save(run / "verdict.parquet")
    return calm


def test_where_no_label_is_flagged_the_most_doubtful_are_listed(
    run: Path, open_page: OpenPage, serving: Callable[[Review], Any]
) -> None:
    verdict = without_flags(run)
    review = Review.open(run, order="mixed")
    assert review.suspects.rows[0] == verdict.most_doubtful(1)[0]
    page = open_page(serving(review).guard.link).page
    expect(page.locator("#notes")).to_contain_text(
        "No label is flagged: the list has 70 of the most doubtful labels."
    )
    expect(page.locator("#shown")).to_have_text("70 suspects")
    expect(page.locator("#change")).to_contain_text("not flagged: is it right?")
    page.keyboard.press("k")
    judged(page, 1)
    assert review.patch().ids.tolist() == [review.suspects.ids[0]]
    review.close()


def test_a_run_without_suspects_opens(run: Path, open_page: OpenPage, serving: Callable[[Review], Any]) -> None:
    verdict, summary = without_flags(run), json.loads((run / "summary.json").read_text())
    summary["decisions"] = {"n": len(verdict), "ids": verdict.ids.tolist()}  # people know all of them
    (run / "summary.json").write_text(json.dumps(summary))
    review = Review.open(run)
    page = open_page(serving(review).guard.link).page
    expect(page.locator("#empty")).to_contain_text("no label looks wrong")
    page.keyboard.press("a")
    page.keyboard.press("g")
    page.keyboard.press("u")
    expect(page.locator("#live")).to_contain_text("nothing to undo")
    review.close()
