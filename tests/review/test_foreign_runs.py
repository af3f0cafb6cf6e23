"""Runs of somebody else, with anything in their files: they open with notes, or are refused in one sentence."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from eigenclean.errors import EigencleanError, InvalidOption
from eigenclean.review import Review
from eigenclean.review.run import reviewer_name
from eigenclean.review.single_page import single_page
from eigenclean.review.store import FILE

ODD: list[Any] = [
    0,
    -1.5,
    True,
    [],
    {},
    "\ud800",
    "a\0b",
    "x" * 5000,
    ["name"],
    {"name": "\ud800"},
    {"name": [1]},
    10**400,
]


def try_everything(run: Path) -> bool:
    """Whether the run opens; then all that the page asks for must work, or be one sentence."""
    try:
        review = Review.open(run)
    except EigencleanError as error:
        assert "\n" not in str(error)
        return False
    try:
        for call in _CALLS:
            with suppress(EigencleanError):
                json.dumps(call(review), allow_nan=False)
    finally:
        review.close()
    return True


_CALLS: list[Callable[[Review], Any]] = [
    Review.describe,
    Review.decisions,
    Review.n_decided,
    lambda review: review.suspect_columns(slice(0, 5)),
    lambda review: review.items([0, 1]),
    lambda review: review.signatures([0, 1]),
    lambda review: review.entries_for_page(review.store.since(0)),
    lambda review: review.patch().to_records(),
    lambda review: single_page(review, reviewer="Ada", most=2),
]


@pytest.mark.parametrize("key", ["data_hash", "source", "embedding", "name", "folder"])
def test_summaries(run: Path, key: str) -> None:
    (run / "manifest.json").unlink()  # whoever changes a run also writes its manifest, or none
    summary = json.loads((run / "summary.json").read_text())
    for value in ODD:
        changed = {**summary, key: value}
        if key in ("name", "folder"):
            changed = {**summary, "source": {**summary["source"], key: value}}
        (run / "summary.json").write_text(json.dumps(changed))
        opens = try_everything(run)
        assert opens == (key != "data_hash" or value in ("a\0b", "x" * 5000))


@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff\xfe{\x00}\x00", b'{"data_hash": NaN}', b"", b"null"])
def test_summaries_that_are_no_summary(run: Path, content: bytes) -> None:
    (run / "manifest.json").unlink()
    (run / "summary.json").write_bytes(content)
    assert not try_everything(run)


COLUMNS = "data_hash, id, given, state, label, old_state, old_label, reviewer, time, action, request, undoes"


@pytest.mark.parametrize("column", ["id", "given", "label", "old_label", "reviewer", "time", "action", "undoes"])
def test_entries(opened: Review, run: Path, column: str) -> None:
    row: dict[str, Any] = dict.fromkeys(COLUMNS.split(", "))
    row |= {"data_hash": opened.data_hash, "id": json.dumps(opened.suspects.ids[0]), "given": "2", "state": "keep"}
    row |= {"old_state": "open", "reviewer": "Eve", "time": "", "action": "a", "request": "r"}
    for value in ("", b"\xff", 5, 1.5, "[1]", "{", "NaN", "1e999", r'"\ud800"', "9" * 400, "null", "true"):
        with sqlite3.connect(run / FILE) as db:
            db.execute(
                f"INSERT INTO history ({COLUMNS}) VALUES ({', '.join('?' * 12)})",
                [*(row | {column: value}).values()],
            )
        db.close()
        assert try_everything(run)


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE history"],
        ["DROP TABLE history", "CREATE VIEW history AS SELECT 1 AS seq"],
        ["DROP TABLE history", f"CREATE TABLE history (seq INTEGER PRIMARY KEY, {COLUMNS})",
         "INSERT INTO history (data_hash, id, given, state) VALUES (:hash, :id, '1', 'no such state')"],
        ["CREATE TRIGGER evil AFTER INSERT ON history BEGIN SELECT load_extension('x'); END"],
        ["PRAGMA user_version = 99"],
    ],
)  # fmt: skip
def test_tables(opened: Review, run: Path, statements: list[str]) -> None:
    parameters = {"hash": opened.data_hash, "id": json.dumps(opened.suspects.ids[0])}
    with sqlite3.connect(run / FILE) as db:
        for statement in statements:
            db.execute(statement, parameters if ":hash" in statement else {})
    db.close()
    try_everything(run)


@pytest.mark.parametrize("name", ["\udcff", "x" * 201])
def test_a_reviewer_that_cannot_be_stored_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidOption, match="--reviewer must be text"):
        reviewer_name(name)
    monkeypatch.setattr("getpass.getuser", lambda: name)
    assert reviewer_name(None) == reviewer_name(" ") == "reviewer"
    assert reviewer_name(" Ada ") == "Ada"
