"""Notes about samples: saved with the decisions, taken back with them, exported as the reason in a patch."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from eigenclean.cli.app import run as eigenclean
from eigenclean.patch import Patch
from eigenclean.report.sections.base import ReportInput
from eigenclean.report.sections.decisions import decisions
from eigenclean.review import Review
from eigenclean.review.schema import MIGRATIONS
from eigenclean.review.store import KEEP, OPEN, UNSURE, Change, Store
from eigenclean.workflows.detection.decisions import load_decisions

OpenPage = Callable[..., Any]
NOTE = "<b>blurred</b>\nask Grace"


def judged(page: Page, n: int) -> None:
    expect(page.locator("#progress-text")).to_contain_text(f"{n} of ")


def write_note(page: Page, text: str) -> None:
    page.keyboard.press("m")
    expect(page.locator("#note-input")).to_be_focused()
    page.locator("#note-input").fill(text)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#note-dialog")).to_be_hidden()


def test_the_store_carries_and_takes_back_notes(tmp_path: Path) -> None:
    with Store(tmp_path / "review.sqlite", "0a") as store:
        first = store.record([Change(7, "cat", OPEN, note=NOTE)], reviewer="Ada", action="1").entries[0]
        kept = store.record([Change(7, "cat", KEEP, base=first.seq)], reviewer="Ada", action="2").entries[0]
        assert kept.note == NOTE  # a decision leaves the note as it is
        store.record([Change(7, "cat", KEEP, base=kept.seq, note="")], reviewer="Ada", action="3")
        assert store.current_columns()["note"] == [""]
        assert store.undo(reviewer="Ada", request="4").entries[0].note == NOTE
        assert store.undo(reviewer="Ada", request="5").entries[0].state == OPEN
        assert store.undo(reviewer="Ada", request="6").entries[0].note == ""
    assert load_decisions_of(tmp_path) == []


def load_decisions_of(folder: Path) -> list[Any]:
    from eigenclean.review.past_decisions import past_decisions

    return past_decisions(folder)


def test_a_file_of_an_earlier_version_gets_the_column(tmp_path: Path) -> None:
    path = tmp_path / "review.sqlite"
    with sqlite3.connect(path) as db:
        for statement in MIGRATIONS[0]:
            db.execute(statement)
        db.execute("PRAGMA user_version = 1")
        db.execute(
            "INSERT INTO history (data_hash, id, given, state, old_state, reviewer, time, action, request) "
            "VALUES ('0a', '7', '1', 'keep', 'open', 'Ada', '2026-01-31T12:00:00Z', 'a', 'a')"
        )
    db.close()
    with Store(path, "0a") as store:
        assert store.current()[0].note == "" and store.current_columns()["note"] == [""]
        store.record([Change(7, 1, UNSURE, base=1, note="two digits")], reviewer="Ada", action="b")
        assert [entry.note for entry in store.history()] == ["", "two digits"]


def test_a_note_is_written_shown_and_exported(
    opened: Review,
    serving: Callable[[Review], Any],
    open_page: OpenPage,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    served = serving(opened)
    first = open_page(served.guard.link)
    page = first.page
    judged(page, 0)
    write_note(page, NOTE)
    expect(page.locator("#live")).to_have_text("Note saved.")
    expect(page.locator("#note")).to_have_text(NOTE)
    assert page.locator("#note b").count() == 0  # text, not markup
    judged(page, 0)  # a note is no decision
    page.keyboard.press("k")
    judged(page, 1)
    expect(page.locator("#note")).to_be_hidden()  # the next suspect has none
    page.keyboard.press("p")
    expect(page.locator("#note")).to_have_text(NOTE)
    page.keyboard.press("m")
    expect(page.locator("#note-input")).to_have_value(NOTE)
    page.keyboard.press("k")  # typed, not decided
    page.keyboard.press("Escape")
    page.reload()
    judged(page, 1)
    page.keyboard.press("p")
    expect(page.locator("#note")).to_have_text(NOTE)  # fetched, since this page did not see it happen
    opened.patch().save(tmp_path / "patch.jsonl")
    assert Patch.load(tmp_path / "patch.jsonl").reason.tolist() == [NOTE]
    assert load_decisions(tmp_path / "patch.jsonl")[0].note == load_decisions(opened.folder)[0].note == NOTE
    assert eigenclean(["patch", "show", str(tmp_path / "patch.jsonl")]) == 0
    assert "<b>blurred</b> ask Grace" in capsys.readouterr().out
    cookies = "; ".join(f"{c['name']}={c['value']}" for c in page.context.cookies())
    for note in (7, "x" * 2001, "\ud800", "\0"):
        body = {"decisions": [{"item": 5, "state": "keep", "base": 0, "note": note}], "action": "x", "request": "x"}
        status, _, content = served.ask("POST", "/api/decisions", body, {"Cookie": cookies})
        assert status == 400 and "note must be text" in json.loads(content)["error"]


@pytest.mark.slow
def test_a_note_in_a_single_file(mails: Path, open_page: OpenPage, tmp_path: Path) -> None:
    run = shutil.copytree(mails / "run", tmp_path / "run")
    assert eigenclean(["review", str(run), "--export", str(tmp_path / "review.html")]) == 0
    page = open_page((tmp_path / "review.html").as_uri()).page
    judged(page, 0)
    write_note(page, NOTE)
    page.keyboard.press("r")
    judged(page, 1)
    page.reload()
    judged(page, 1)
    page.keyboard.press("p")
    expect(page.locator("#note")).to_have_text(NOTE)
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
    waiting.value.save_as(tmp_path / "patch.jsonl")
    assert Patch.load(tmp_path / "patch.jsonl").reason.tolist() == [NOTE]


def test_the_report_shows_notes_as_text(opened: Review) -> None:
    note = {"id": "7", "decision": "relabel", "old": "cat", "new": "dog", "reviewer": "Ada", "note": NOTE}
    facts = {"n": 2, "confirmed": 1, "corrected": 1, "removed": 0, "unmatched": 0, "notes": [note] * 60}
    shown = decisions(ReportInput(opened.suspects.verdict, run={"decisions": facts}))
    assert shown is not None and shown["n"] == 2 and len(shown["notes"]) == 50 and shown["n_hidden"] == 10
    assert shown["notes"][0]["note"] == "<b>blurred</b> ask Grace"
    assert decisions(ReportInput(opened.suspects.verdict)) is None
    odd = decisions(ReportInput(opened.suspects.verdict, run={"decisions": {"n": "x", "notes": [3, {}]}}))
    assert odd is not None and odd["n"] == 0 and len(odd["notes"]) == 1
