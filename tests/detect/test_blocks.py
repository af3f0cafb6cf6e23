"""Sums over blocks: small ones of persisted tables by several threads, large ones one after the other."""

import threading

import numpy as np
import pytest

from eigenclean.detect.blocks import LocalBlocks


class Busy:
    """Notes how many are at work at a time."""

    def __init__(self) -> None:
        self._lock, self._now, self.most = threading.Lock(), 0, 0
        self._both = threading.Event()

    def __call__(self, *parts: object) -> int:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            if self._now > 1:
                self._both.set()
        self._both.wait(0.05)
        with self._lock:
            self._now -= 1
        return 1


def test_small_sums_over_persisted_tables_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenclean.threads.n_threads", lambda: 2)
    busy, blocks = Busy(), LocalBlocks.of([np.arange(3)] * 6)
    assert blocks.persist().total(busy) == 6
    assert busy.most == 2


@pytest.mark.parametrize(("persisted", "large"), [(True, True), (False, True), (False, False)])
def test_large_sums_and_unmade_blocks_are_taken_one_by_one(
    persisted: bool, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eigenclean.threads.n_threads", lambda: 2)
    busy, blocks = Busy(), LocalBlocks.of([np.arange(3)] * 4)
    assert (blocks.persist() if persisted else blocks).total(busy, initial=int if large else None) == 4
    assert busy.most == 1
