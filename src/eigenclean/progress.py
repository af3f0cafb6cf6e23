"""Long work says how far it is; whoever wants to know listens. The library itself prints nothing."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


class Listener(Protocol):
    """Hears about work: ``begin`` returns a handle, ``advance`` and ``end`` give it back."""

    def begin(self, what: str, total: float) -> int:
        """A piece of work starts."""

    def advance(self, handle: int, amount: float) -> None:
        """Some of it is done."""

    def end(self, handle: int) -> None:
        """It is over, finished or not."""


@runtime_checkable
class Counter(Protocol):
    """A listener that also wants to know what is counted, because it shows a rate."""

    def begin_counting(self, what: str, total: float, unit: str) -> int:
        """A piece of work of so many units starts."""


_listener: ContextVar[Listener | None] = ContextVar("eigenclean_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Inside the block, ``listener`` hears about all work of this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def quiet() -> Iterator[None]:
    """Inside the block, nobody hears of work: it is part of something larger that is told of as a whole."""
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


def track(
    items: Sequence[T], what: str, sizes: Iterable[float] | None = None, unit: str | None = None
) -> Iterator[T]:
    """Iterate over ``items``, telling the listener; ``sizes`` are shares of the work, by default equal.

    ``unit`` names what the sizes count, such as "images", where people want to know the rate.

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
