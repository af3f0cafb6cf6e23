"""The tables of the file of decisions, and how files of earlier versions are brought up to date."""

import sqlite3
from pathlib import Path

from eigenclean.errors import InvalidData

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
    (  # what people wrote about a sample; NULL in entries of earlier versions
        "ALTER TABLE history ADD COLUMN note TEXT",
        "ALTER TABLE history ADD COLUMN old_note TEXT",
    ),
)


def _refuse_foreign_code(db: sqlite3.Connection, path: Path) -> None:
    """Raise `InvalidData` if the file, which may be somebody else's, could change decisions that are recorded."""
    ours = {statement for step in MIGRATIONS for statement in step}
    code = db.execute("SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')")
    for name, sql in code.fetchall():
        if sql not in ours:
            raise InvalidData(
                f"{path} has code of its own, {str(name)[:60]!r}, which could change what you decide; ask whoever "
                "gave you the run for one without it"
            )


def migrate(db: sqlite3.Connection, path: Path) -> None:
    """Bring the open file up to date, all steps in one transaction."""
    _refuse_foreign_code(db, path)
    if int(db.execute("PRAGMA user_version").fetchone()[0]) == len(MIGRATIONS):
        return  # an up-to-date file is only read
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
        if db.in_transaction:  # SQLite has ended it already when the disk is full
            db.execute("ROLLBACK")
        raise
