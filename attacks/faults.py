"""A disk that fails at a chosen operation: the process is killed there, or the disk is full from there on.

`FaultyDisk` counts what changes a folder: renames, syncs, folders made, files removed, files opened for writing,
and writes. At operation ``at`` it raises. `Killed` stands for SIGKILL: a dead process does no clean-up, so that all
later operations raise too. An error number stands for a full disk: later writes fail as well, removals and renames
work. Run a workflow once with ``at=None`` to learn how many operations there are, then once for each of them.

Only operations under ``root`` count. Arrow writes in C++; its functions count as one write each.
"""

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq


class Killed(BaseException):
    """The process is gone."""


class FaultyDisk:
    """Context manager in which the disk fails at operation ``at``, counted from 1; with None it only counts.

    Args:
        root: folder in which operations count.
        at: the operation that fails.
        error: `Killed`, or an error number such as ``errno.ENOSPC``.
        half: whether a write that fails leaves half of its bytes.
    """

    def __init__(
        self, root: Path, at: int | None = None, error: type[Killed] | int = Killed, *, half: bool = True
    ) -> None:
        self.root, self.at, self.error, self.half = str(root.resolve()), at, error, half
        self.n_operations = 0
        self.log: list[str] = []
        self.failed = False
        self._patches: list[Any] = []

    def __enter__(self) -> "FaultyDisk":
        for module, name, writes in (
            (os, "replace", False),
            (os, "rename", False),
            (os, "unlink", False),
            (os, "remove", False),
            (os, "rmdir", False),
            (os, "mkdir", True),
        ):
            self._patch(module, name, self._counted(getattr(module, name), name, writes=writes))
        self._patch(os, "fsync", self._counted_sync(os.fsync))
        real = io.open
        opened = self._counted_open(real)
        self._patch(io, "open", opened)
        self._patch(builtins, "open", opened)
        self._patch(pq, "write_table", self._counted(pq.write_table, "write_table", argument=1))
        self._patch(pyarrow.csv, "write_csv", self._counted(pyarrow.csv.write_csv, "write_csv", argument=1))
        created = self._counted(pq.ParquetWriter.__init__, "ParquetWriter", argument=1)
        self._patch(pq.ParquetWriter, "__init__", created)
        self._patch(os, "open", self._counted_os_open(os.open))
        self._patch(pa.ipc, "new_file", self._counted(pa.ipc.new_file, "new_file"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for patch in reversed(self._patches):
            patch.stop()

    def _patch(self, module: Any, name: str, function: Any) -> None:
        patch = mock.patch.object(module, name, function)
        patch.start()
        self._patches.append(patch)

    def _is_inside(self, path: Any) -> bool:
        try:
            return str(os.path.abspath(os.fspath(path))).startswith(self.root)
        except TypeError:
            return False

    def operation(self, what: str, *, writes: bool = True) -> None:
        """Count one operation, or fail."""
        if self.failed and (self.error is Killed or writes):
            self._raise()
        self.n_operations += 1
        self.log.append(what)
        if self.n_operations == self.at and (self.error is Killed or writes):
            self.failed = True
            self._raise()

    def _raise(self) -> None:
        if isinstance(self.error, int):
            raise OSError(self.error, os.strerror(self.error))
        raise self.error

    def _counted(
        self, real: Callable[..., Any], name: str, *, argument: int = 0, writes: bool = True
    ) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if len(args) > argument and self._is_inside(args[argument]):
                self.operation(f"{name} {Path(args[argument]).name}", writes=writes)
            return real(*args, **options)

        return call

    def _counted_sync(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def call(handle: int) -> None:
            self.operation("fsync")
            real(handle)

        return call

    def _counted_os_open(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *args: Any, **options: Any) -> int:
            if flags & os.O_CREAT and self._is_inside(path):
                self.operation(f"create {Path(path).name}")
            return real(path, flags, *args, **options)

        return call

    def _counted_open(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            if not set(mode) & set("wax+") or not self._is_inside(file):
                return real(file, mode, *args, **options)
            self.operation(f"open {Path(file).name}")
            return _CountedFile(real(file, mode, *args, **options), self, Path(file).name)

        return call


class _CountedFile:
    """A file whose writes count."""

    def __init__(self, file: Any, disk: FaultyDisk, name: str) -> None:
        self._file, self._disk, self._name = file, disk, name

    def write(self, data: Any) -> int:
        try:
            self._disk.operation(f"write {self._name}")
        except BaseException:
            if self._disk.half and len(data) > 1:
                self._file.write(data[: len(data) // 2])
            raise
        return int(self._file.write(data))

    def __enter__(self) -> "_CountedFile":
        self._file.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self._file.__exit__(*details)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def every_fault(
    root: Path,
    run: Callable[[], object],
    check: Callable[[BaseException | None], None],
    *,
    prepare: Callable[[], object],
    error: type[Killed] | int = Killed,
) -> int:
    """For every operation of ``run``: ``prepare``, fail there, ``check``; returns how many there were.

    ``check`` gets what was raised. The last round fails nowhere, and ``check`` gets None.
    """
    at = 0
    while True:
        at += 1
        prepare()
        raised: BaseException | None = None
        with FaultyDisk(root, at, error) as disk:
            try:
                run()
            except (Exception, Killed) as problem:
                raised = problem
        try:
            check(raised)
        except BaseException as problem:
            where = disk.log[at - 1] if len(disk.log) >= at else "the end"
            problem.add_note(f"after a fault at operation {at}: {where}")
            raise
        if disk.n_operations < at:
            return at - 1


FULL = errno.ENOSPC
