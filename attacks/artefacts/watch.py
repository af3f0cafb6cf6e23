"""Watch this process while it reads a hostile artefact: code that is loaded, files outside that are touched."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]

_CODE = ("import", "exec", "compile")
_PROCESSES = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "pty.spawn")
_PATHS = (
    "open",
    "os.rename",
    "os.remove",
    "os.link",
    "os.symlink",
    "os.mkdir",
    "os.rmdir",
    "os.truncate",
    "os.chmod",
)
_LOADERS = ("ctypes.dlopen",)


class Watch:
    """What an attack may not reach.

    Args:
        root: folder of the attack; its subfolder ``outside`` holds what no artefact may name.
        own_code: a file of code that the user names on the command line.
    """

    _current: "Watch | None" = None
    _installed = False

    def __init__(self, root: Path, own_code: Path | None = None) -> None:
        self.own_code = str(own_code)
        self.root = str(root.resolve())
        self.outside = f"{self.root}/outside"
        self.seen: list[str] = []

    @contextmanager
    def watching(self) -> Iterator["Watch"]:
        """Record events of the block; Python cannot remove an audit hook, so it stays and then does nothing."""
        if not Watch._installed:
            # scikit-learn asks for the number of physical cores when it first uses threads, and joblib runs lscpu
            # to find it. joblib remembers the answer, so no artefact is blamed for that process.
            joblib.cpu_count(only_physical_cores=True)
            sys.addaudithook(_hook)
            Watch._installed = True
        Watch._current = self
        try:
            yield self
        finally:
            Watch._current = None

    def event(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Take note of an event that must not happen."""
        if name in _PROCESSES:
            self.seen.append(f"{name} {arguments[0]!r}")
        elif name == "socket.connect":
            self.seen.append(f"a connection to {arguments[1]!r}")
        elif name in _CODE:
            file = _code_file(name, arguments)
            if file.startswith(self.root) and file != self.own_code:
                self.seen.append(f"{name} of {self._short(file)}")
        elif name in _PATHS or name in _LOADERS:
            for value in arguments[:2]:
                path = _as_path(value)
                if path is not None and self._is_outside(path, follow=name == "open"):
                    self.seen.append(f"{name} of {self._short(path)}")

    def _is_outside(self, path: str, *, follow: bool) -> bool:
        if "\0" in path:
            return False
        folder, name = os.path.split(path)
        real = os.path.realpath(path) if follow else os.path.join(os.path.realpath(folder), name)
        return real.startswith(self.outside)

    def _short(self, path: str) -> str:
        return path.replace(self.root, "DIR")


def _hook(name: str, arguments: tuple[Any, ...]) -> None:
    watch = Watch._current
    if watch is None:
        return
    Watch._current = None  # what is looked up here is no event
    try:
        watch.event(name, arguments)
    finally:
        Watch._current = watch


def _code_file(name: str, arguments: tuple[Any, ...]) -> str:
    if name == "exec":
        return str(getattr(arguments[0], "co_filename", ""))
    file = str(arguments[1] or "<unknown>")
    return file if file.startswith("<") else os.path.realpath(file)


def _as_path(value: Any) -> str | None:
    if isinstance(value, bytes):
        return os.fsdecode(value)
    return os.fspath(value) if isinstance(value, str | os.PathLike) else None
