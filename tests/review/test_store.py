"""Decisions are committed, never changed, counted once, and survive whatever happens to the process."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.errors import InvalidData
from eigenclean.review import schema
from eigenclean.review.store import FILE, KEEP, OPEN, RELABEL, REMOVE, UNSURE, Change, Store


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        yield store


def states(store: Store) -> dict[Any, tuple[str, Any]]:
    return {entry.id: (entry.state, entry.label) for entry in store.current()}


def decide(store: Store, id: Any, state: str, label: Any = None, reviewer: str = "Ada", action: str = "") -> Any:
    base = max((entry.seq for entry in store.history() if entry.id == id), default=0)
    action = action or f"{reviewer} {store.last_seq()}"
    return store.record([Change(id, "cat", state, label, base)], reviewer=reviewer, action=action)


def test_what_was_decided_is_there_after_opening_again(tmp_path: Path) -> None:
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        decide(store, 7, RELABEL, "dog")
        decide(store, "7", KEEP)  # another id than the number
        decide(store, 8, UNSURE)
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        assert states(store) == {7: (RELABEL, "dog"), "7": (KEEP, None), 8: (UNSURE, None)}
    with Store(tmp_path / FILE, data_hash="other data") as store:
        assert states(store) == {}


def test_history_says_who_when_old_and_new(store: Store) -> None:
    decide(store, 7, RELABEL, "dog", reviewer="Ada")
    decide(store, 7, KEEP, reviewer="Bob")
    first, second = store.history()
    assert (first.old_state, first.old_label, first.state, first.label, first.reviewer) == (
        OPEN,
        None,
        RELABEL,
        "dog",
        "Ada",
    )
    assert (second.old_state, second.old_label, second.state, second.reviewer) == (RELABEL, "dog", KEEP, "Bob")
    assert first.given == "cat"
    assert first.time.endswith("Z") and first.time <= second.time


def test_history_cannot_be_changed(store: Store) -> None:
    decide(store, 7, KEEP)
    with sqlite3.connect(store.path) as db:
        for statement in (
            "UPDATE history SET reviewer = 'Eve'",
            "DELETE FROM history",
            "DELETE FROM history WHERE seq = 1",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                db.execute(statement)
    db.close()


def test_a_request_that_comes_twice_counts_once(store: Store) -> None:
    change = [Change(7, "cat", RELABEL, "dog")]
    first = store.record(change, reviewer="Ada", action="1", request="r1")
    again = store.record(change, reviewer="Ada", action="1", request="r1")
    assert first == again and len(store.history()) == 1
    undone = store.undo(reviewer="Ada", request="r2")
    assert store.undo(reviewer="Ada", request="r2") == undone
    assert len(store.history()) == 2


def test_what_another_decided_meanwhile_is_not_overwritten(store: Store) -> None:
    decide(store, 7, KEEP, reviewer="Bob")
    outcome = store.record(
        [Change(7, "cat", RELABEL, "dog"), Change(8, "cat", RELABEL, "dog")], reviewer="Ada", action="1"
    )
    assert [entry.id for entry in outcome.entries] == [8]
    assert [(entry.id, entry.reviewer) for entry in outcome.conflicts] == [(7, "Bob")]
    assert states(store) == {7: (KEEP, None), 8: (RELABEL, "dog")}


def test_undo_goes_back_step_by_step_and_only_over_ones_own(store: Store) -> None:
    decide(store, 1, KEEP)
    decide(store, 1, RELABEL, "dog")
    decide(store, 2, REMOVE)
    decide(store, 3, KEEP, reviewer="Bob")
    expected = [
        {1: (RELABEL, "dog"), 2: (OPEN, None), 3: (KEEP, None)},
        {1: (KEEP, None), 2: (OPEN, None), 3: (KEEP, None)},
        {1: (OPEN, None), 2: (OPEN, None), 3: (KEEP, None)},
    ]
    for number, after in enumerate(expected):
        store.undo(reviewer="Ada", request=f"undo {number}")
        assert states(store) == after
    assert store.undo(reviewer="Ada", request="one more").entries == []
    decide(store, 1, UNSURE)
    store.undo(reviewer="Ada", request="and again")
    assert states(store)[1] == (OPEN, None)


def test_undo_passes_over_what_another_has_decided_since(store: Store) -> None:
    decide(store, 1, KEEP)
    decide(store, 2, KEEP)
    decide(store, 2, RELABEL, "dog", reviewer="Bob")
    outcome = store.undo(reviewer="Ada", request="undo")
    assert [entry.id for entry in outcome.entries] == [1]
    assert states(store) == {1: (OPEN, None), 2: (RELABEL, "dog")}


def test_an_action_of_many_is_undone_as_one(store: Store) -> None:
    for number in range(3):
        changes = [Change(10 * number + i, "cat", RELABEL, "dog") for i in range(10)]
        store.record(changes, reviewer="Ada", action="sweep", request=f"sweep/{number}")
    assert len(store.undo(reviewer="Ada", request="undo").entries) == 30
    assert set(states(store).values()) == {(OPEN, None)}


def test_two_processes_see_each_other(store: Store) -> None:
    with Store(store.path, data_hash="0a1b") as other:
        decide(store, 7, KEEP)
        seen = other.since(0)
        assert [entry.id for entry in seen] == [7]
        decide(other, 8, KEEP, reviewer="Bob")
        assert [entry.id for entry in store.since(seen[-1].seq)] == [8]


_ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["Ada", "Bob"]),
        st.sampled_from(["undo", KEEP, RELABEL, UNSURE]),
        st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True),
    ),
    max_size=12,
)


@settings(max_examples=25)
@given(_ACTIONS)
def test_the_current_state_is_what_the_history_replays_to(actions: list[tuple[str, str, list[int]]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / FILE, data_hash="0a1b") as store:
        for number, (reviewer, what, ids) in enumerate(actions):
            if what == "undo":
                store.undo(reviewer=reviewer, request=str(number))
                continue
            last = {entry.id: entry.seq for entry in store.current()}
            label = "dog" if what == RELABEL else None
            changes = [Change(id, "cat", what, label, last.get(id, 0)) for id in ids]
            assert store.record(changes, reviewer=reviewer, action=str(number)).conflicts == []
        replayed: dict[Any, tuple[str, Any]] = {}
        for entry in store.history():
            assert replayed.get(entry.id, (OPEN, None)) == (entry.old_state, entry.old_label)
            replayed[entry.id] = (entry.state, entry.label)
        assert replayed == states(store)


_WRITER = """
import sys
from pathlib import Path
from eigenclean.review.store import Change, Store
with Store(Path(sys.argv[1]), data_hash="0a1b") as store:
    for number in range(100_000):
        store.record([Change(number, "cat", "keep")], reviewer="Ada", action=str(number))
        print(number, flush=True)
"""


def test_nothing_that_was_confirmed_is_lost_by_kill_9(tmp_path: Path) -> None:
    path = tmp_path / FILE
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    confirmed = [int(writer.stdout.readline()) for _ in range(30)]
    os.kill(writer.pid, signal.SIGKILL)
    confirmed += [int(line) for line in writer.communicate()[0].splitlines()]
    with Store(path, data_hash="0a1b") as store:
        assert set(confirmed) <= {entry.id for entry in store.current()}
        assert len(store.history()) <= len(confirmed) + 1  # one may be committed and not yet told


def test_a_write_that_fails_leaves_nothing_behind(store: Store) -> None:
    decide(store, 1, KEEP)
    with pytest.raises(InvalidData, match="nothing was changed"):
        store.record([Change(2, "cat", KEEP), Change(3, "cat", "nonsense")], reviewer="Ada", action="a")
    assert states(store) == {1: (KEEP, None)}
    decide(store, 2, KEEP)  # and it goes on


def test_commits_reach_the_disk(store: Store) -> None:
    db = store._db
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


# The file in other versions.


def test_an_old_file_is_migrated_with_all_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        decide(store, 7, RELABEL, "dog")
    step = ("ALTER TABLE history ADD COLUMN seconds REAL", "CREATE INDEX history_of_time ON history (time)")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, step))
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        assert states(store) == {7: (RELABEL, "dog")}
        assert store._db.execute("SELECT seconds FROM history").fetchall() == [(None,)]
        assert store._db.execute("PRAGMA user_version").fetchone() == (len(schema.MIGRATIONS),)
        decide(store, 8, KEEP)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        decide(store, 7, KEEP)
    released = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", (*released, ("CREATE TABLE more (x)", "CREATE TABLE history (x)")))
    with pytest.raises(InvalidData, match="already exists"):
        Store(tmp_path / FILE, data_hash="0a1b")
    monkeypatch.setattr(schema, "MIGRATIONS", released)
    with Store(tmp_path / FILE, data_hash="0a1b") as store:
        assert states(store) == {7: (KEEP, None)}
        assert store._db.execute("SELECT name FROM sqlite_master WHERE name = 'more'").fetchall() == []


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(InvalidData, match="newer eigenclean"):
        Store(tmp_path / FILE, data_hash="0a1b")


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a data base, whatever its name says" * 100)
    with pytest.raises(InvalidData, match=r"review.sqlite is not a file of decisions"):
        Store(tmp_path / FILE, data_hash="0a1b")
    with pytest.raises(InvalidData, match="cannot be opened"):
        Store(tmp_path / "no such folder" / FILE, data_hash="0a1b")
