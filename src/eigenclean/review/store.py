"""Decisions in SQLite: committed before anyone is told, never changed, never lost."""

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
from eigenclean.review.schema import migrate

FILE = "review.sqlite"
OPEN, KEEP, RELABEL, REMOVE, UNSURE = STATES = ("open", "keep", "relabel", "remove", "unsure")
_AT_ONCE = 500  # ids in one query
_FIELDS = "seq, id, given, state, label, old_state, old_label, reviewer, time, action, undoes"


@dataclass(frozen=True)
class Change:
    """A decision to be recorded: what a label becomes, and the entry that the reviewer saw there (0: none)."""

    id: Any
    given: Any
    state: str
    label: Any = None
    base: int = 0


@dataclass(frozen=True)
class Entry:
    """A line of the history."""

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
    """What became of some changes: the entries that are now committed, and those that were there first."""

    entries: list[Entry]
    conflicts: list[Entry]


class Store:
    """The decisions about one data set in one file, which any number of threads and processes may share.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / FILE, data_hash="0a1b") as store:
    ...     made = store.record([Change(7, "cat", RELABEL, "dog")], reviewer="Ada", action="1")
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
            self._db.execute("PRAGMA synchronous = FULL")  # a commit is on the disk, whatever happens next
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
        """Append the changes in one transaction; what someone else has decided meanwhile is left as it is.

        ``action`` is what one key did, and may come in several requests. A request that was recorded already is not
        recorded again: its entries are returned as they were.
        """
        request = action if request is None else request
        with self._writing():
            done = self._select("request = ? AND data_hash = ?", request, self.data_hash)
            if done:
                return Outcome(done, [])
            seen = {change.id: change.base for change in changes}
            before = self._lasts([*seen])
            unseen = {id: entry for id, entry in before.items() if entry.seq != seen[id]}
            free = [change for change in changes if change.id not in unseen]
            self._append(free, before, reviewer=reviewer, action=action, request=request)
            return Outcome(
                self._select("request = ? AND data_hash = ?", request, self.data_hash), [*unseen.values()]
            )

    def undo(self, *, reviewer: str, request: str) -> Outcome:
        """Take back the reviewer's last action that is not taken back yet, except where another was there since."""
        with self._writing():
            done = self._select("request = ? AND data_hash = ?", request, self.data_hash)
            if done:
                return Outcome(done, [])
            for action in self._undoable(reviewer):
                taken = self._select("action = ? AND data_hash = ?", action, self.data_hash)[::-1]
                before = self._lasts([entry.id for entry in taken])
                back = [
                    Change(entry.id, entry.given, entry.old_state, entry.old_label)
                    for entry in taken
                    if before[entry.id].reviewer == reviewer
                ]
                if back:
                    self._append(back, before, reviewer=reviewer, action=request, request=request, undoes=action)
                    others = [entry for entry in before.values() if entry.reviewer != reviewer]
                    return Outcome(self._select("request = ? AND data_hash = ?", request, self.data_hash), others)
            return Outcome([], [])

    def current(self) -> list[Entry]:
        """The last entry about each id, oldest first; undone decisions are there as "open"."""
        return self._locked_select(
            "seq IN (SELECT max(seq) FROM history WHERE data_hash = ? GROUP BY id)", self.data_hash
        )

    def since(self, seq: int, most: int = 5000) -> list[Entry]:
        """What was appended after the entry ``seq``, by anyone."""
        return self._locked_select("seq > ? AND data_hash = ?", seq, self.data_hash, most=most)

    def history(self) -> list[Entry]:
        """Everything that was ever decided about these data."""
        return self._locked_select("data_hash = ?", self.data_hash)

    def last_seq(self) -> int:
        """The number of the last entry; 0 when there is none."""
        with self._lock:
            return self._last_seq()

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
        before: Mapping[Any, Entry],
        *,
        reviewer: str,
        action: str,
        request: str,
        undoes: str | None = None,
    ) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        who = (reviewer, now, action, request, undoes)
        rows = []
        for change in changes:
            last = before.get(change.id)
            old = (OPEN, None) if last is None else (last.state, _json(last.label))
            new = (_json(change.id), _json(change.given), change.state, _json(change.label))
            rows.append((self.data_hash, *new, *old, *who))
        self._db.executemany(
            "INSERT INTO history (data_hash, id, given, state, label, old_state, old_label, reviewer, time, "
            "action, request, undoes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )

    def _undoable(self, reviewer: str) -> Iterator[str]:
        """Actions of the reviewer that are neither taken back nor take back another, the latest first."""
        rows = self._db.execute(
            "SELECT action FROM history AS done WHERE data_hash = ? AND reviewer = ? AND undoes IS NULL "
            "AND NOT EXISTS (SELECT 1 FROM history WHERE undoes = done.action) ORDER BY seq DESC",
            (self.data_hash, reviewer),
        )
        seen = None
        while (row := rows.fetchone()) is not None:
            if row[0] != seen:
                seen = row[0]
                yield seen

    def _lasts(self, ids: Sequence[Any]) -> dict[Any, Entry]:
        """The last entry about each id that there is one about."""
        found: dict[Any, Entry] = {}
        for start in range(0, len(ids), _AT_ONCE):
            part = [_json(id) for id in ids[start : start + _AT_ONCE]]
            places = ", ".join("?" * len(part))
            last = f"SELECT max(seq) FROM history WHERE data_hash = ? AND id IN ({places}) GROUP BY id"
            found |= {entry.id: entry for entry in self._select(f"seq IN ({last})", self.data_hash, *part)}
        return found

    def _last_seq(self) -> int:
        return int(self._db.execute("SELECT coalesce(max(seq), 0) FROM history").fetchone()[0])

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
