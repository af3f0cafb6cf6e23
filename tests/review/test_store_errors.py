"""A full, locked, read-only or damaged file of decisions: the right sentence, and nothing lost."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from eigenclean.cli.app import run as eigenclean
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.review import Review
from eigenclean.review import store as store_module
from eigenclean.review.store import FILE, KEEP, Change, Store
from eigenclean.review.store_errors import explain_store_error

CODES = {
    "SQLITE_FULL": "no space left on the disk",
    "SQLITE_IOERR": "check the disk",
    "SQLITE_READONLY": "get permission to write",
    "SQLITE_PERM": "get permission to write",
    "SQLITE_BUSY": "locked by another program",
    "SQLITE_LOCKED": "locked by another program",
    "SQLITE_CANTOPEN": "check that its folder exists",
    "SQLITE_NOTADB": "is not a file of decisions, or is damaged",
    "SQLITE_CORRUPT": "is not a file of decisions, or is damaged",
    "SQLITE_TOOBIG": "nothing was changed",
}
DESTRUCTIVE = ("move it", "move away", "delete", "remove", "overwrite", "rm ")


def _error(name: str, message: str = "what SQLite says", extended: int = 0) -> sqlite3.Error:
    error = sqlite3.OperationalError(message)
    error.sqlite_errorcode = getattr(sqlite3, name) | extended << 8
    return error


@pytest.mark.parametrize("name", CODES)
def test_every_error_has_its_sentence_and_no_destructive_advice(name: str, tmp_path: Path) -> None:
    for doing in ("opened", "read", "written"):
        sentence = explain_store_error(_error(name, extended=3), tmp_path / FILE, doing)
        assert CODES[name] in sentence and str(tmp_path / FILE) in sentence and "\n" not in sentence
        assert not any(word in sentence for word in DESTRUCTIVE)
        assert ("damaged" in sentence) == (name in ("SQLITE_NOTADB", "SQLITE_CORRUPT"))
        assert ("copy it" in sentence) == ("damaged" in sentence)


@pytest.mark.parametrize(
    ("name", "full"), [("SQLITE_IOERR", True), ("SQLITE_CANTOPEN", True), ("SQLITE_IOERR", False)]
)
def test_input_errors_of_a_full_disk_are_called_so(
    name: str, full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Disk:
        f_bavail, f_frsize, f_files, f_favail = 3 if full else 1 << 20, 4096, 100, 50

    monkeypatch.setattr("eigenclean.review.store_errors.os.statvfs", lambda folder: Disk)
    assert ("no space left" in explain_store_error(_error(name), tmp_path / FILE, "opened")) == full


@pytest.mark.parametrize("name", CODES)
def test_opening_says_so_too(
    name: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    Review.open(run).close()
    before = (run / FILE).read_bytes()

    def refuse(*_: Any) -> None:
        raise _error(name)

    monkeypatch.setattr(store_module, "migrate", refuse)
    assert eigenclean(["review", str(run), "--patch", str(tmp_path / "p.jsonl")]) == 2
    said = capfd.readouterr().err
    assert CODES[name] in said and said.count("\n") == 1
    assert (run / FILE).read_bytes() == before


def _fill(store: Store) -> list[int]:
    """Record decisions until SQLite has no room; what was confirmed."""
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages + 2}")
    confirmed: list[int] = []
    with pytest.raises(InvalidData, match=r"no space left on the disk of .*review\.sqlite"):
        for id in range(10_000):
            store.record([Change(id, "cat", KEEP)], reviewer="Ada", action=str(id))
            confirmed.append(id)
    return confirmed


def test_a_full_disk_loses_nothing_and_work_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        confirmed = _fill(store)
        assert confirmed and [entry.id for entry in store.history()] == confirmed
        lost = len(confirmed)
        store._db.execute("PRAGMA max_page_count = 1000000")
        store.record([Change(lost, "cat", KEEP)], reviewer="Ada", action=str(lost))
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        assert [entry.id for entry in store.history()] == [*confirmed, lost]


def test_the_server_says_that_the_disk_is_full_and_the_page_may_try_again(opened: Review, serving: Any) -> None:
    server = serving(opened)
    server.enter()
    _fill(opened.store)
    n = len(opened.suspects)
    latest = opened.store.last_about(opened.suspects.ids)
    bases = [latest[id].seq if id in latest else 0 for id in opened.suspects.ids]
    body = {
        "decisions": [{"item": item, "state": "keep", "base": base} for item, base in enumerate(bases)],
        "action": "x",
        "request": "x",
        "reviewer": "Ada",
    }
    before = opened.store.history()
    status, _, content = server.ask("POST", "/api/decisions", body)
    assert status == 503 and b"no space left on the disk" in content
    assert opened.store.history() == before
    opened.store._db.execute("PRAGMA max_page_count = 1000000")
    assert len(server.post("/api/decisions", body)["entries"]) == n


def test_a_lock_is_called_a_lock(tmp_path: Path) -> None:
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        store._db.execute("PRAGMA busy_timeout = 1")
        other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(InvalidData, match="locked by another program"):
            store.record([Change(1, "cat", KEEP)], reviewer="Ada", action="a")
        other.close()
        assert len(store.record([Change(1, "cat", KEEP)], reviewer="Ada", action="a").entries) == 1


def test_a_damaged_file_is_left_as_it_is(tmp_path: Path) -> None:
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        store.record([Change(id, "cat" * 100, KEEP) for id in range(200)], reviewer="Ada", action="a")
    content = bytearray((tmp_path / FILE).read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    (tmp_path / FILE).write_bytes(bytes(content))
    with (
        pytest.raises(InvalidData, match=r"is damaged.* copy it"),
        Store(tmp_path / FILE, data_hash="0a1b") as store,
    ):
        store.current()
    assert (tmp_path / FILE).read_bytes() == bytes(content)


@pytest.mark.parametrize("value", [b"\xff", "[7]", "{}", "not JSON", "[" * 100_000, '"\\ud800', "1, 2"])
def test_entries_of_somebody_else_are_one_sentence(tmp_path: Path, value: Any) -> None:
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        store._db.execute(
            "INSERT INTO history (data_hash, id, given, state, old_state, reviewer, time, action, request) "
            "VALUES ('0a1b', ?, '1', 'keep', 'open', 'Eve', '', 'a', 'r')",
            (value,),
        )
        for read in (store.current, store.history, store.current_columns):
            with pytest.raises(InvalidData, match="did not write"):
                read()


def test_without_room_for_the_cache_the_review_opens(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise InvalidOption("no space left on the disk")

    (run / "review.npz").unlink()
    monkeypatch.setattr("eigenclean.review.source.save_explanation", refuse)
    review = Review.open(run)
    assert review.explanation is not None and "no space left" in review.notes[0]
    review.close()
