"""Decisions in SQLite: an append-only history in which every decision is committed before it is confirmed."""

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eigenclean.errors import EigencleanError, InvalidData
from eigenclean.review.schema import migrate
from eigenclean.review.store_errors import explaining

FILE = "review.sqlite"
OPEN, KEEP, RELABEL, REMOVE, UNSURE = STATES = ("open", "keep", "relabel", "remove", "unsure")
_IDS_PER_QUERY = 500  # SQLite limits the number of parameters
_ROWS_PER_FETCH = 10_000
_CACHE_KILOBYTES = 1 << 16  # the indexes of a few hundred thousand decisions
_FIELDS = "seq, id, given, state, label, old_state, old_label, reviewer, time, action, undoes, note"


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
        note: what the reviewer wrote about the sample; None leaves an earlier note as it is.
    """

    id: Any
    given: Any
    state: str
    label: Any = None
    base: int = 0
    note: str | None = None


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
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """Result of a request: entries that are committed now, and newer entries of others that were left alone.

    ``n_undone`` counts the entries when not all of them are listed.
    """

    entries: list[Entry]
    conflicts: list[Entry]
    n_undone: int = 0


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
        with explaining(path, "opened"):
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
        try:
            with explaining(path, "opened"):
                self._db.execute("PRAGMA trusted_schema = OFF")  # the file may come from somebody else
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")  # a commit survives a crash or power failure
                self._db.execute(f"PRAGMA cache_size = {-_CACHE_KILOBYTES}")
                migrate(self._db, path)
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
        (id, n_decisions), *_ = Counter(change.id for change in changes).most_common(1) or [(None, 0)]
        if n_decisions > 1:
            raise InvalidData(f"one request must hold one decision about an item, got {n_decisions} about {id!r}")
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

    def undo(self, *, reviewer: str, request: str, most: int = -1) -> Outcome:
        """Undo the reviewer's last action that is not undone yet, except where others decided since.

        The outcome names ``most`` entries; `since` has all of them.
        """
        with self._writing():
            recorded = self._entries_of("request", request, most)
            if recorded:
                return Outcome(recorded, [], self._db.execute(_COUNT, (request, self.data_hash)).fetchone()[0])
            parameters = {
                "hash": self.data_hash, "reviewer": reviewer, "request": request, "time": _now(), "most": most
            }  # fmt: skip
            for action in self._undoable(reviewer):
                parameters["action"] = action
                n_undone = self._db.execute(_UNDO, parameters).rowcount
                if n_undone > 0:
                    conflicts = self._select_by(_NOT_UNDONE, parameters)
                    return Outcome(self._entries_of("request", request, most), conflicts, n_undone)
            return Outcome([], [])

    def current(self) -> list[Entry]:
        """The last entry about each id, oldest first; an undone decision has the state "open"."""
        return self._locked_select(
            "seq IN (SELECT max(seq) FROM history WHERE data_hash = ? GROUP BY id)", self.data_hash
        )

    def latest_of_all_data(self) -> list[Entry]:
        """The last entry about each id, whichever data it was about, oldest first."""
        return self._locked_select("seq IN (SELECT max(seq) FROM history GROUP BY id)")

    def current_columns(self) -> dict[str, list[Any]]:
        """The decisions that hold now, oldest first, as columns: id, given, state, label, reviewer, time and note.

        One query, and no object for each decision: for the patch of a few hundred thousand.
        """
        with self._lock, explaining(self.path, "read"):
            rows = self._db.execute(
                "SELECT id, given, state, label, reviewer, time, coalesce(note, '') FROM history "
                "WHERE state != 'open' AND seq IN (SELECT max(seq) FROM history WHERE data_hash = ? GROUP BY id) "
                "ORDER BY seq",
                (self.data_hash,),
            ).fetchall()
        names = ("id", "given", "state", "label", "reviewer", "time", "note")
        columns: dict[str, list[Any]] = dict(
            zip(names, map(list, zip(*rows, strict=True)) if rows else ([] for _ in names), strict=True)
        )
        for name in ("id", "given", "label"):
            columns[name] = self._decoded(columns[name])
        if not all(
            isinstance(text, str) for name in ("state", "reviewer", "time", "note") for text in columns[name]
        ):
            raise InvalidData(_not_ours(self.path))
        return columns

    def states_since(self, seq: int) -> Iterator[list[tuple[int, str, str, str | None]]]:
        """Number, id (as JSON), state and label (as JSON) of the entries after number ``seq``, some at a time."""
        while True:
            with self._lock, explaining(self.path, "read"):
                rows = self._db.execute(
                    "SELECT seq, id, state, label FROM history WHERE seq > ? AND +data_hash = ? "
                    "ORDER BY seq LIMIT ?",
                    (seq, self.data_hash, _ROWS_PER_FETCH),
                ).fetchall()
            if not rows:
                return
            yield rows
            seq = rows[-1][0]

    def last_about(self, ids: Sequence[Any]) -> dict[Any, Entry]:
        """The last entry about each of these ids, where there is one."""
        with self._lock, explaining(self.path, "read"):
            return self._latest(ids)

    def since(self, seq: int, most: int = 5000) -> list[Entry]:
        """Entries after number ``seq``, of all reviewers, at most ``most``."""
        # The plus keeps SQLite from sorting all entries about these data by number, every second.
        return self._locked_select("seq > ? AND +data_hash = ?", seq, self.data_hash, most=most)

    def history(self) -> list[Entry]:
        """All entries about these data, oldest first."""
        return self._locked_select("data_hash = ?", self.data_hash)

    def last_seq(self) -> int:
        """The number of the last entry; 0 when there is none."""
        with self._lock, explaining(self.path, "read"):
            return int(self._db.execute("SELECT coalesce(max(seq), 0) FROM history").fetchone()[0])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock, explaining(self.path, "written"):
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")  # when this returns, the decision is on the disk
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _append(
        self,
        changes: Sequence[Change],
        latest: Mapping[Any, Entry],
        *,
        reviewer: str,
        action: str,
        request: str,
    ) -> None:
        provenance = (reviewer, _now(), action, request)
        rows = []
        for change in changes:
            replaced = latest.get(change.id)
            old = (OPEN, None) if replaced is None else (replaced.state, _json(replaced.label))
            old_note = "" if replaced is None else replaced.note
            new = (_json(change.id), _json(change.given), change.state, _json(change.label))
            note = old_note if change.note is None else change.note
            rows.append((self.data_hash, *new, *old, *provenance, note, old_note))
        self._db.executemany(
            "INSERT INTO history (data_hash, id, given, state, label, old_state, old_label, reviewer, time, "
            "action, request, note, old_note) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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

    def _entries_of(self, column: str, value: str, most: int = -1) -> list[Entry]:
        return self._select(f"{column} = ? AND data_hash = ?", value, self.data_hash, most=most)

    def _locked_select(self, condition: str, *values: Any, most: int = -1) -> list[Entry]:
        with self._lock, explaining(self.path, "read"):
            return self._select(condition, *values, most=most)

    def _select(self, condition: str, *values: Any, most: int = -1) -> list[Entry]:
        query = f"SELECT {_FIELDS} FROM history WHERE {condition} ORDER BY seq LIMIT ?"
        return self._select_by(query, (*values, most))

    def _select_by(self, query: str, parameters: Sequence[Any] | Mapping[str, Any]) -> list[Entry]:
        try:
            return [_entry(row) for row in self._db.execute(query, parameters).fetchall()]
        except (ValueError, TypeError, RecursionError):
            raise InvalidData(_not_ours(self.path)) from None

    def _decoded(self, texts: Sequence[str | None]) -> list[Any]:
        """Many values that are JSON each, with one call of the decoder."""
        try:
            values: list[Any] = json.loads(f"[{','.join('null' if text is None else text for text in texts)}]")
        except (ValueError, TypeError, RecursionError):
            values = []
        if len(values) != len(texts) or any(isinstance(value, list | dict) for value in values):
            raise InvalidData(_not_ours(self.path))
        return values


# Undoing restores the states before an action, last entry first, where nobody else has decided since.
_LAST_OF_DONE = (
    "FROM history AS done JOIN history AS last ON last.seq = "
    "(SELECT max(seq) FROM history WHERE data_hash = done.data_hash AND id = done.id) "
    "WHERE done.action = :action AND done.data_hash = :hash "
)
_UNDO = (
    "INSERT INTO history (data_hash, id, given, state, label, old_state, old_label, reviewer, time, action, "
    "request, undoes, note, old_note) SELECT done.data_hash, done.id, done.given, done.old_state, done.old_label, "
    "last.state, last.label, :reviewer, :time, :request, :request, :action, done.old_note, last.note "
    f"{_LAST_OF_DONE} AND last.reviewer = :reviewer "
    "ORDER BY done.seq DESC"
)
_COUNT = "SELECT count(*) FROM history WHERE request = ? AND data_hash = ?"
_NOT_UNDONE = (
    f"SELECT {', '.join(f'last.{field.strip()}' for field in _FIELDS.split(','))} {_LAST_OF_DONE} "
    "AND last.reviewer != :reviewer ORDER BY last.seq LIMIT :most"
)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _entry(row: tuple[Any, ...]) -> Entry:
    seq, id, given, state, label, old_state, old_label, *rest = row
    values = [None if text is None else json.loads(text) for text in (id, given, label, old_label)]
    if any(isinstance(value, list | dict) for value in values) or any(isinstance(value, bytes) for value in rest):
        raise ValueError("ids and labels are numbers or texts, and all else is text")
    reviewer, time, action, undoes, note = rest
    decided = (seq, values[0], values[1], state, values[2], old_state, values[3])
    return Entry(*decided, reviewer, time, action, undoes, note or "")


def _not_ours(path: Path) -> str:
    return f"{path} holds entries that eigenclean did not write; nothing was changed"
