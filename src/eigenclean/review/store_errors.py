"""What is wrong with the file of decisions, in one sentence that never costs anybody a decision."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eigenclean.errors import InvalidData

_ROOM = (
    1 << 16
)  # bytes: SQLite's shared memory needs half of it, and reports a lack of room for it as an input error
_KEPT = "every decision that was confirmed is kept"


@contextmanager
def explaining(path: Path, doing: str) -> Iterator[None]:
    """Turn the errors of SQLite into `InvalidData`; ``doing`` is "opened", "read" or "written"."""
    try:
        yield
    except sqlite3.Error as error:
        raise InvalidData(explain_store_error(error, path, doing)) from error


def explain_store_error(error: sqlite3.Error, path: Path, doing: str) -> str:
    """The sentence for an error of SQLite; only a file that is damaged for certain is called so.

    >>> error = sqlite3.OperationalError("database or disk is full")
    >>> error.sqlite_errorcode = sqlite3.SQLITE_FULL
    >>> explain_store_error(error, Path("review.sqlite"), "written")
    'no space left on the disk of review.sqlite; every decision that was confirmed is kept: free space and go on'
    """
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the upper bits say more than a sentence needs
    disk_may_be_full = code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
    if code == sqlite3.SQLITE_FULL or (disk_may_be_full and _is_full(path.parent)):
        return f"no space left on the disk of {path}; {_KEPT}: free space and go on"
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return (
            f"{path} is not a file of decisions, or is damaged: {error}; nothing was changed: copy it and its "
            f"{path.name}-wal to a safe place before you do anything else"
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"{path} is locked by another program; {_KEPT}: end that program, or wait, and go on"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return f"{path} may not be written here; {_KEPT}: get permission to write to it and to its folder"
    if code == sqlite3.SQLITE_CANTOPEN:
        return f"{path} cannot be opened: check that its folder exists and that you may write there"
    if code == sqlite3.SQLITE_IOERR:
        return f"{path} cannot be {doing}: {error}; {_KEPT}: check the disk that it is on"
    return f"{path} cannot be {doing}: {error}; {_KEPT}, and nothing was changed"


def _is_full(folder: Path) -> bool:
    try:
        disk = os.statvfs(folder)
    except (OSError, AttributeError):  # there is no such folder, or the system has no such call
        return False
    return disk.f_bavail * disk.f_frsize < _ROOM or (disk.f_files > 0 and disk.f_favail == 0)
