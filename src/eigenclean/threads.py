"""Several threads at work on a list: NumPy lets others run while it calculates."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")
_MOST = 8  # beyond it, memory is what everybody waits for


def n_threads() -> int:
    """How many are welcome: what ``OMP_NUM_THREADS`` allows, or else one a core."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MOST, cores, max(1, int(allowed)) if allowed.isdecimal() else cores)


def in_threads(function: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
    """``function(item)`` for each item, in order; no more results are held than there are threads.

    >>> list(in_threads(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    threads = n_threads()
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="working") as pool:
        pending: deque[Future[U]] = deque()
        for item in items:
            if len(pending) == threads:
                yield pending.popleft().result()
            pending.append(pool.submit(function, item))
        while pending:
            yield pending.popleft().result()
