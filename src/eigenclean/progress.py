"""Long work says how far it is; whoever wants to know listens. The library itself prints nothing."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")


class Listener(Protocol):
    """Hears about work: ``begin`` returns a handle, ``advance`` and ``end`` give it back."""

    def begin(self, what: str, total: float, unit: str | None = None) -> int:
        """A piece of work starts; ``unit`` names what is counted, where a rate means something."""

    def advance(self, handle: int, amount: float) -> None:
        """Some of it is done."""

    def end(self, handle: int) -> None:
        """It is over, finished or not."""


_listener: ContextVar[Listener | None] = ContextVar("eigenclean_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Inside the block, ``listener`` hears about all work of this thread."""
    token = _listener.set(listener)
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
    handle = listener.begin(what, sum(amounts), **({} if unit is None else {"unit": unit}))
    try:
        for item, amount in zip(items, amounts, strict=True):
            yield item
            listener.advance(handle, amount)
    finally:
        listener.end(handle)
