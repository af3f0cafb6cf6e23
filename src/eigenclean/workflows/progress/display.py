"""Listeners that show the library's progress: bars in a terminal, bars in a notebook, lines in a log."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from html import escape
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from eigenclean.progress import listening

LINE_SECONDS = 10.0  # between two lines about the same work in a log
_REFRESH_SECONDS = 0.2


class Bars:
    """Shows progress as bars with the time left."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def begin(self, what: str, total: float) -> int:
        """Add a bar."""
        return int(self._progress.add_task(what, total=total))

    def begin_counting(self, what: str, total: float, unit: str) -> int:
        """Add a bar with a rate."""
        return int(self._progress.add_task(what, total=total, unit=unit))

    def advance(self, handle: int, amount: float) -> None:
        """Move a bar."""
        self._progress.advance(TaskID(handle), amount)

    def end(self, handle: int) -> None:
        """Remove a bar."""
        self._progress.remove_task(TaskID(handle))


class Rate(ProgressColumn):
    """Progress column with the number of units done and their rate, for work that is counted in units."""

    def render(self, task: Task) -> Text:
        """Render the counts and the rate of a task."""
        unit = task.fields.get("unit")
        if unit is None or not task.speed:
            return Text("")
        return Text(f"{task.completed:.0f} of {task.total:.0f} {unit}, {_speed(task.speed)}/s")


def progress_bars(console: Console, *, disable: bool = False) -> Progress:
    """Bars with time left and rate on a console, which vanish at the end."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), Rate(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=disable)


@dataclass
class _Work:
    what: str
    total: float
    unit: str | None
    started: float
    shown: float
    done: float = 0.0

    def line(self, now: float) -> str:
        """What is done so far, how fast, and how long it will take."""
        seconds = max(now - self.started, 1e-9)
        share = self.done / self.total if self.total else 1.0
        left = f", about {(self.total - self.done) * seconds / self.done:.0f} s left" if self.done else ""
        counted = f"{self.done:.0f} of {self.total:.0f} {self.unit}, " if self.unit else ""
        rate = f", {_speed(self.done / seconds)} {self.unit}/s" if self.unit else ""
        return f"{self.what}: {counted}{100 * share:.0f} %{rate}{left}"


class Listening:
    """Keeps track of tasks; what is shown of them is up to the class that inherits."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tasks: dict[int, _Work] = {}
        self._n = 0

    def begin(self, what: str, total: float) -> int:
        """A task starts."""
        return self._begin(what, total, None)

    def begin_counting(self, what: str, total: float, unit: str) -> int:
        """A task starts whose units are counted."""
        return self._begin(what, total, unit)

    def advance(self, handle: int, amount: float) -> None:
        """Some of a task is done."""
        self._tasks[handle].done += amount

    def end(self, handle: int) -> None:
        """A task has ended."""
        del self._tasks[handle]

    def _begin(self, what: str, total: float, unit: str | None) -> int:
        self._n += 1
        now = self._clock()
        self._tasks[self._n] = _Work(what, total, unit, now, now)
        return self._n


class LogLines(Listening):
    """Writes a line about work that takes long, every ten seconds; short work says nothing."""

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._write = write

    def advance(self, handle: int, amount: float) -> None:
        """Some of a task is done: write a line when the last one is long ago."""
        super().advance(handle, amount)
        task, now = self._tasks[handle], self._clock()
        if now - task.shown >= LINE_SECONDS:
            task.shown = now
            self._write(task.line(now))


class NotebookBars(Listening):
    """Shows bars in the output of a notebook's cell.

    Args:
        show: called with HTML, to replace what was shown before.
        clock: seconds, for tests.
    """

    def __init__(self, show: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._show = show
        self._shown = -_REFRESH_SECONDS

    def advance(self, handle: int, amount: float) -> None:
        """Some of a task is done: move its bar."""
        super().advance(handle, amount)
        now = self._clock()
        if now - self._shown >= _REFRESH_SECONDS:
            self._shown = now
            self._show("".join(self._bar(task, now) for task in self._tasks.values()))

    def end(self, handle: int) -> None:
        """A task has ended: remove its bar."""
        super().end(handle)
        if not self._tasks:
            self._show("")

    @staticmethod
    def _bar(task: _Work, now: float) -> str:
        share = min(task.done / task.total, 1.0) if task.total else 1.0
        return f'<div><progress value="{share:.3f}" max="1"></progress> {escape(task.line(now))}</div>'


@contextmanager
def showing_progress(shown: bool | None = None) -> Iterator[None]:
    """Show progress while the block runs: in a notebook, or on a terminal; None only if there is one of them."""
    kernel = notebook_display()
    console = Console(stderr=True)
    if shown is False or (shown is None and kernel is None and not console.is_terminal):
        with nullcontext():
            yield
    elif kernel is not None:
        with listening(NotebookBars(kernel)):
            yield
    else:
        with progress_bars(console) as bars, listening(Bars(bars)):
            yield


def notebook_display() -> Callable[[str], None] | None:
    """A function that shows HTML in the cell that runs, in place of what it showed before; None elsewhere."""
    if not in_notebook():
        return None
    display: Any = __import__("IPython.display", fromlist=["display"])
    handle: Any = None

    def show(html: str) -> None:
        nonlocal handle
        content = display.HTML(html)
        if handle is None:
            handle = display.display(content, display_id=True)
        elif handle is not None:
            handle.update(content)

    return show


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook, whose cells can show HTML."""
    shell: Any = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and hasattr(running, "kernel")


def _speed(per_second: float) -> str:
    return f"{per_second:.0f}" if per_second >= 10 else f"{per_second:.1f}"
