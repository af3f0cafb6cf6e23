"""Several threads at work: in order, few at a time, and errors are heard."""

import threading
import time
from collections.abc import Iterator

import pytest

from eigenclean.threads import in_threads, n_threads


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order_and_few_are_held(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenclean.threads.n_threads", lambda: threads)
    lock, begun, taken = threading.Lock(), 0, 0
    prefetched: list[int] = []

    def work(item: int) -> int:
        nonlocal begun
        with lock:
            begun += 1
            prefetched.append(begun - taken)
        time.sleep(0.002 * (item % 3))
        return item * item

    for number, result in enumerate(in_threads(work, range(30))):
        taken += 1
        assert result == number * number
    assert taken == 30
    assert max(prefetched) <= threads + 1


def test_work_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenclean.threads.n_threads", lambda: 2)
    both = threading.Barrier(2, timeout=60)  # nobody gets past it alone
    assert list(in_threads(lambda item: both.wait() >= 0, range(6))) == [True] * 6


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_is_heard(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenclean.threads.n_threads", lambda: threads)
    with pytest.raises(ZeroDivisionError):
        list(in_threads(lambda item: 1 // (3 - item), range(10)))


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(6)), raising=False)
    for allowed, expected in (("", 6), ("1", 1), ("4", 4), ("64", 6), ("0", 1), ("many", 6)):
        monkeypatch.setenv("OMP_NUM_THREADS", allowed)
        assert n_threads() == expected
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(96)), raising=False)
    assert n_threads() == 8


@pytest.mark.parametrize("threads", [1, 4])
def test_items_are_taken_only_as_results_are(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The items may be blocks that are read from a disk, of which memory holds few."""
    monkeypatch.setattr("eigenclean.threads.n_threads", lambda: threads)
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(50):
            taken.append(item)
            yield item

    results = in_threads(lambda item: -item, items())
    assert taken == []
    for number, result in enumerate(results):
        assert result == -number
        assert len(taken) <= number + 1 + threads
        if number == 10:
            break
    assert len(taken) < 50


@pytest.mark.parametrize("threads", [1, 4])
def test_nothing_to_do(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenclean.threads.n_threads", lambda: threads)
    assert list(in_threads(abs, [])) == []
