"""Progress of long computations, reported to a listener that the caller installs; the library prints nothing."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


class Listener(Protocol):
    """Receives progress: ``begin`` returns a handle, by which ``advance`` and ``end`` refer to the task."""

    def begin(self, what: str, total: float) -> int:
        """A task of ``total`` units starts."""

    def advance(self, handle: int, amount: float) -> None:
        """Another ``amount`` of the task is done."""

    def end(self, handle: int) -> None:
        """The task has ended, completed or not."""


@runtime_checkable
class Counter(Protocol):
    """A listener that also receives the unit that is counted, because it shows a rate."""

    def begin_counting(self, what: str, total: float, unit: str) -> int:
        """A task of ``total`` units, such as images, starts."""


_listener: ContextVar[Listener | None] = ContextVar("eigenclean_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Inside the block, ``listener`` receives the progress of this context."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def quiet() -> Iterator[None]:
    """Inside the block, no progress is reported: the work is a step of a task that is reported as a whole."""
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


def track(
    items: Sequence[T], what: str, sizes: Iterable[float] | None = None, unit: str | None = None
) -> Iterator[T]:
    """Iterate over ``items`` and report progress; ``sizes`` are their shares of the work, by default equal.

    ``unit`` names what the sizes count, such as "images", for listeners that show a rate.

    >>> list(track([1, 2, 3], "counting"))
    [1, 2, 3]
    """
    listener = _listener.get()
    if listener is None:
        yield from items
        return
    amounts = [1.0] * len(items) if sizes is None else [float(size) for size in sizes]
    if unit is not None and isinstance(listener, Counter):
        handle = listener.begin_counting(what, sum(amounts), unit)
    else:
        handle = listener.begin(what, sum(amounts))
    try:
        for item, amount in zip(items, amounts, strict=True):
            yield item
            listener.advance(handle, amount)
    finally:
        listener.end(handle)
