"""A thread pool with ordered results: NumPy releases the interpreter lock during its arithmetic."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")
_MAX_THREADS = 8  # more threads are limited by the bandwidth of the memory


def n_threads() -> int:
    """Return how many threads to use: ``OMP_NUM_THREADS`` if it is set, else one per core, and at most eight."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(_MAX_THREADS, cores, max(1, int(allowed)) if allowed.isdecimal() else cores)


def in_threads(function: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
    """Yield ``function(item)`` for each item, in order; at most one result per thread is held.

    >>> list(in_threads(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    threads = n_threads()
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="in_threads") as pool:
        pending: deque[Future[U]] = deque()
        for item in items:
            if len(pending) == threads:
                yield pending.popleft().result()
            pending.append(pool.submit(function, item))
        while pending:
            yield pending.popleft().result()
