"""Count the operations of a process on the file system, and kill it right after a chosen one."""

import builtins
import io
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

RENAMES = ("replace", "rename", "link", "symlink")
_OPERATIONS = (*RENAMES, "fsync", "unlink", "remove", "mkdir", "rmdir", "truncate", "ftruncate")
_WRITING = set("wax+")


class Operations:
    """Everything that a process did to files, in order.

    Args:
        kill_after: number of the operation, from 1, after which the process dies as with kill -9; None only counts.
    """

    def __init__(self, kill_after: int | None = None) -> None:
        self.names: list[str] = []
        self._kill_after = kill_after

    def did(self, name: str) -> None:
        """Take note of an operation that has just been carried out."""
        self.names.append(name)
        if len(self.names) == self._kill_after:
            die()

    @contextmanager
    def watched(self) -> Iterator["Operations"]:
        """Watch this process: functions of `os`, files that are opened for writing, statements of SQLite."""
        saved: list[tuple[Any, str, Any]] = [(os, name, getattr(os, name)) for name in _OPERATIONS]
        saved += [(builtins, "open", builtins.open), (io, "open", io.open), (sqlite3, "connect", sqlite3.connect)]
        opened = self._opening(io.open)
        changed = [
            *(self._counted(name, function) for _, name, function in saved[: len(_OPERATIONS)]),
            opened,
            opened,
        ]
        changed.append(self._connecting(sqlite3.connect))
        try:
            for (module, name, _), function in zip(saved, changed, strict=True):
                setattr(module, name, function)
            yield self
        finally:
            for module, name, function in saved:
                setattr(module, name, function)

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            result = function(*args, **options)
            self.did(name)
            return result

        return counted

    def _opening(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def opening(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            result = function(file, mode, *args, **options)
            if set(mode) & _WRITING:
                self.did("open")
            return result

        return opening

    def _connecting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def connecting(*args: Any, **options: Any) -> Any:
            connection = function(*args, **options)
            # Called when a statement begins, which is right after the end of the one before.
            connection.set_trace_callback(lambda statement: self.did("sql"))
            return connection

        return connecting


def die() -> None:
    """As kill -9 does: no time for last words."""
    os.kill(os.getpid(), signal.SIGKILL)


def chosen_operation(names: list[str], number: int, n_kills: int) -> int | None:
    """Which operation, from 1, case ``number`` of ``n_kills`` aims at; None for a random time instead.

    First each rename, then the other operations, evenly; what is left of the cases gets random times.

    >>> [chosen_operation(["open", "fsync", "replace"], i, 4) for i in range(4)]
    [3, 1, 2, None]
    """
    renames = [i for i, name in enumerate(names, start=1) if name in RENAMES]
    others = [i for i, name in enumerate(names, start=1) if name not in RENAMES]
    left = max(0, n_kills - len(renames))
    if left < len(others):
        others = [others[i * len(others) // left] for i in range(left)]
    aims = [*renames, *others]
    return aims[number] if number < len(aims) else None
