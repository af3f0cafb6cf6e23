"""Timing that is robust on a busy machine: both sides in turns, the best of several runs, and peak memory."""

import contextvars
import gc
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

Work = Callable[[], object]
Clock = Callable[[], float]

# Seconds of all threads of this process together: other processes disturb them less than those on the wall.
processor_time: Clock = time.process_time


def seconds(work: Work, clock: Clock | None = None) -> float:
    """Seconds of one call, by default on the wall, without progress listeners and without the garbage collector."""
    clock = clock or time.perf_counter
    context = contextvars.Context()  # an empty one: a progress bar that is drawn meanwhile must not be timed
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = clock()
        context.run(work)
        return clock() - start
    finally:
        if collecting:
            gc.enable()


def best_in_turns(ours: Work, baseline: Work, repeats: int) -> tuple[float, float]:
    """Best seconds of each, measured in turns after one warm-up, so that both meet the same disturbances.

    >>> ours, baseline = best_in_turns(lambda: None, lambda: sum(range(1000)), repeats=3)
    >>> 0 < ours and 0 < baseline
    True
    """
    ours(), baseline()
    pairs = [(seconds(ours), seconds(baseline)) for _ in range(repeats)]
    return min(first for first, _ in pairs), min(second for _, second in pairs)


def best_around(ours: Work, baseline: Work, pilot: Work, repeats: int) -> tuple[float, float]:
    """For a baseline too slow to repeat: it runs once, ours several times before and after it.

    A single run cannot outwait a busy machine, where small tasks that two threads share take many times as long as
    with one. So ``pilot``, a small part of the baseline, first shows on how many threads it does better.
    """
    ours()
    before = [seconds(ours) for _ in range(repeats)]
    pilot()
    one_thread, all_threads = _alone(pilot), seconds(pilot)
    slow = _alone(baseline) if one_thread < all_threads else seconds(baseline)
    after = [seconds(ours) for _ in range(repeats)]
    return min(before + after), slow


def peak_bytes(work: Work) -> int:
    """The most memory that ``work`` held at once beyond what was there before; NumPy's arrays are counted.

    >>> import numpy as np
    >>> 8000 <= peak_bytes(lambda: np.zeros(1000).sum()) < 20000
    True
    """
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        contextvars.Context().run(work)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@contextmanager
def limited_threads(most: int) -> Iterator[None]:
    """Inside the block, BLAS and OpenMP use at most ``most`` threads, and threads of our own as many processors."""
    # macOS and Windows have no such call; there only the threads of BLAS and OpenMP are limited.
    pinned = getattr(os, "sched_setaffinity", None)
    allowed = sorted(os.sched_getaffinity(0)) if pinned else []
    with threadpool_limits(limits=most):
        try:
            if pinned:
                pinned(0, allowed[:most])
            yield
        finally:
            if pinned:
                pinned(0, allowed)


def blas_libraries() -> list[str]:
    """Name, version and kernel of each BLAS in this process, such as ``openblas 0.3.30 SkylakeX``."""
    names = {
        " ".join(str(library[key]) for key in ("internal_api", "version", "architecture") if library.get(key))
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    return sorted(names)


def busy_processors() -> float | None:
    """How many processors others kept busy during the last minute; None where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _alone(work: Work) -> float:
    with threadpool_limits(limits=1):
        return seconds(work)
