"""Decisions in SQLite: an append-only history in which every decision is committed before it is confirmed."""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eigenclean.errors import EigencleanError, InvalidData

# One entry per version, never changed once released: a new version is a new entry. The number of entries that a
# file has been through is its `user_version`.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE history (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            data_hash TEXT NOT NULL,  -- decisions are about these data and no others
            id TEXT NOT NULL,         -- JSON, so that 7 and "7" are two ids
            given TEXT NOT NULL,      -- JSON
            state TEXT NOT NULL CHECK (state IN ('open', 'keep', 'relabel', 'remove', 'unsure')),
            label TEXT,               -- JSON; for 'relabel' alone
            old_state TEXT NOT NULL,
            old_label TEXT,
            reviewer TEXT NOT NULL,
            time TEXT NOT NULL,
            action TEXT NOT NULL,     -- what was decided with one key, and is undone with one key
            request TEXT NOT NULL,    -- sent again after a lost answer, it must not count twice
            undoes TEXT               -- the action that this row takes back
        )
        """,
        "CREATE INDEX history_of_id ON history (data_hash, id, seq)",
        "CREATE INDEX history_of_request ON history (request)",
        "CREATE INDEX history_of_action ON history (action)",
        "CREATE INDEX history_of_reviewer ON history (data_hash, reviewer, seq)",
        "CREATE INDEX history_of_undoes ON history (undoes) WHERE undoes IS NOT NULL",
        "CREATE TRIGGER history_is_not_changed BEFORE UPDATE ON history "
        "BEGIN SELECT RAISE(ABORT, 'the history of decisions is append-only'); END",
        "CREATE TRIGGER history_is_not_deleted BEFORE DELETE ON history "
        "BEGIN SELECT RAISE(ABORT, 'the history of decisions is append-only'); END",
    ),
)


def migrate(db: sqlite3.Connection, path: Path) -> None:
    """Bring the open file up to date, all steps in one transaction."""
    db.execute("BEGIN IMMEDIATE")  # two servers that start together take turns
    try:
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if version > len(MIGRATIONS):
            raise InvalidData(
                f"{path} was written by a newer eigenclean (tables of version {version}, here "
                f"{len(MIGRATIONS)}); install that one"
            )
        for step in MIGRATIONS[version:]:
            for statement in step:  # not executescript, which would commit in between
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


FILE = "review.sqlite"
OPEN, KEEP, RELABEL, REMOVE, UNSURE = STATES = ("open", "keep", "relabel", "remove", "unsure")
_IDS_PER_QUERY = 500  # SQLite limits the number of parameters
_FIELDS = "seq, id, given, state, label, old_state, old_label, reviewer, time, action, undoes"


@dataclass(frozen=True)
class Change:
    """A decision to record.

    Attributes:
        id: the sample.
        given: its given label.
        state: one of `STATES`.
        label: the right label, for `RELABEL`.
        base: number of the last entry that the reviewer had seen about this sample; 0 for none. If there is a newer
            one, the decision is a conflict and is not recorded.
    """

    id: Any
    given: Any
    state: str
    label: Any = None
    base: int = 0


@dataclass(frozen=True)
class Entry:
    """One entry of the history: a decision, the state that it replaced, and who made it.

    ``action`` groups the entries that were made, and are undone, together; ``undoes`` names the action that an
    entry takes back.
    """

    seq: int
    id: Any
    given: Any
    state: str
    label: Any
    old_state: str
    old_label: Any
    reviewer: str
    time: str
    action: str
    undoes: str | None


@dataclass(frozen=True)
class Outcome:
    """Result of a request: entries that are committed now, and newer entries of others that were left alone."""

    entries: list[Entry]
    conflicts: list[Entry]


class Store:
    """The decisions about one data set in one file, which any number of threads and processes may share.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / FILE, data_hash="0a1b") as store:
    ...     outcome = store.record([Change(7, "cat", RELABEL, "dog")], reviewer="Ada", action="1")
    ...     store.undo(reviewer="Ada", request="2").entries[0].state, [entry.state for entry in store.history()]
    ('open', ['relabel', 'open'])
    """

    def __init__(self, path: Path, data_hash: str) -> None:
        self.path = path
        self.data_hash = data_hash
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        except sqlite3.Error as error:
            raise InvalidData(f"{path} cannot be opened: {error}; check its folder") from None
        try:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")  # a commit survives a crash or power failure
            migrate(self._db, path)
        except sqlite3.Error as error:
            self._db.close()
            raise InvalidData(f"{path} is not a file of decisions: {error}; move it away") from None
        except EigencleanError:
            self._db.close()
            raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def record(
        self, changes: Sequence[Change], *, reviewer: str, action: str, request: str | None = None
    ) -> Outcome:
        """Append the changes in one transaction; samples that someone else decided about meanwhile are conflicts.

        ``action`` may be sent in several requests. A request that is sent again because the
        answer was lost is not recorded twice: its entries are returned.
        """
        request = action if request is None else request
        with self._writing():
            recorded = self._entries_of("request", request)
            if recorded:
                return Outcome(recorded, [])
            base = {change.id: change.base for change in changes}
            latest = self._latest([*base])
            conflicts = {id: entry for id, entry in latest.items() if entry.seq != base[id]}
            accepted = [change for change in changes if change.id not in conflicts]
            self._append(accepted, latest, reviewer=reviewer, action=action, request=request)
            return Outcome(self._entries_of("request", request), [*conflicts.values()])

    def undo(self, *, reviewer: str, request: str) -> Outcome:
        """Undo the reviewer's last action that is not undone yet, except where others decided since."""
        with self._writing():
            recorded = self._entries_of("request", request)
            if recorded:
                return Outcome(recorded, [])
            for action in self._undoable(reviewer):
                entries = self._entries_of("action", action)[::-1]
                latest = self._latest([entry.id for entry in entries])
                restored = [
                    Change(entry.id, entry.given, entry.old_state, entry.old_label)
                    for entry in entries
                    if latest[entry.id].reviewer == reviewer
                ]
                if restored:
                    self._append(
                        restored, latest, reviewer=reviewer, action=request, request=request, undoes=action
                    )
                    conflicts = [entry for entry in latest.values() if entry.reviewer != reviewer]
                    return Outcome(self._entries_of("request", request), conflicts)
            return Outcome([], [])

    def current(self) -> list[Entry]:
        """The last entry about each id, oldest first; an undone decision has the state "open"."""
        return self._locked_select(
            "seq IN (SELECT max(seq) FROM history WHERE data_hash = ? GROUP BY id)", self.data_hash
        )

    def since(self, seq: int, most: int = 5000) -> list[Entry]:
        """Entries after number ``seq``, of all reviewers, at most ``most``."""
        return self._locked_select("seq > ? AND data_hash = ?", seq, self.data_hash, most=most)

    def history(self) -> list[Entry]:
        """All entries about these data, oldest first."""
        return self._locked_select("data_hash = ?", self.data_hash)

    def last_seq(self) -> int:
        """The number of the last entry; 0 when there is none."""
        with self._lock:
            return int(self._db.execute("SELECT coalesce(max(seq), 0) FROM history").fetchone()[0])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")  # when this returns, the decision is on the disk
            except BaseException as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise InvalidData(f"{self.path} cannot be written: {error}; nothing was saved") from error
                raise

    def _append(
        self,
        changes: Sequence[Change],
        latest: Mapping[Any, Entry],
        *,
        reviewer: str,
        action: str,
        request: str,
        undoes: str | None = None,
    ) -> None:
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        provenance = (reviewer, time, action, request, undoes)
        rows = []
        for change in changes:
            replaced = latest.get(change.id)
            old = (OPEN, None) if replaced is None else (replaced.state, _json(replaced.label))
            new = (_json(change.id), _json(change.given), change.state, _json(change.label))
            rows.append((self.data_hash, *new, *old, *provenance))
        self._db.executemany(
            "INSERT INTO history (data_hash, id, given, state, label, old_state, old_label, reviewer, time, "
            "action, request, undoes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )

    def _undoable(self, reviewer: str) -> Iterator[str]:
        """Actions of the reviewer that are neither undone nor an undo, the latest first."""
        rows = self._db.execute(
            "SELECT action FROM history AS done WHERE data_hash = ? AND reviewer = ? AND undoes IS NULL "
            "AND NOT EXISTS (SELECT 1 FROM history WHERE undoes = done.action) ORDER BY seq DESC",
            (self.data_hash, reviewer),
        )
        previous = None
        while (row := rows.fetchone()) is not None:
            if row[0] != previous:
                previous = row[0]
                yield previous

    def _latest(self, ids: Sequence[Any]) -> dict[Any, Entry]:
        """The last entry about each of these ids, where there is one."""
        latest: dict[Any, Entry] = {}
        for start in range(0, len(ids), _IDS_PER_QUERY):
            chunk = [_json(id) for id in ids[start : start + _IDS_PER_QUERY]]
            parameters = ", ".join("?" * len(chunk))
            last = f"SELECT max(seq) FROM history WHERE data_hash = ? AND id IN ({parameters}) GROUP BY id"
            latest |= {entry.id: entry for entry in self._select(f"seq IN ({last})", self.data_hash, *chunk)}
        return latest

    def _entries_of(self, column: str, value: str) -> list[Entry]:
        return self._select(f"{column} = ? AND data_hash = ?", value, self.data_hash)

    def _locked_select(self, condition: str, *values: Any, most: int = -1) -> list[Entry]:
        with self._lock:
            return self._select(condition, *values, most=most)

    def _select(self, condition: str, *values: Any, most: int = -1) -> list[Entry]:
        rows = self._db.execute(
            f"SELECT {_FIELDS} FROM history WHERE {condition} ORDER BY seq LIMIT ?", (*values, most)
        )
        return [_entry(row) for row in rows.fetchall()]


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _entry(row: tuple[Any, ...]) -> Entry:
    seq, id, given, state, label, old_state, old_label, *rest = row
    values = [None if text is None else json.loads(text) for text in (id, given, label, old_label)]
    return Entry(seq, values[0], values[1], state, values[2], old_state, values[3], *rest)
