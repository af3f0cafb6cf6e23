"""Sums over blocks: small ones of persisted tables by several threads, large ones one after the other."""

import threading
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenclean.detect.blocks import (
    BLOCK_BYTES,
    BLOCK_ROWS,
    SPLIT_EVERY,
    LocalBlocks,
    TreeSum,
    add,
    rows_per_block,
)


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


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=600))
def test_a_tree_sum_is_a_sum(numbers: list[int]) -> None:
    tree = TreeSum()
    for number in numbers:
        tree.add((number, 1))
    assert tree.result() == (sum(numbers), len(numbers))


@pytest.mark.parametrize("n", [1, 15, 16, 17, 256, 257, 700])
def test_the_order_of_additions_is_that_of_a_tree_built_level_by_level(n: int) -> None:
    """The order decides the last digits, and engines on a cluster add level by level."""
    numbers = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    tree, level = TreeSum(), list(numbers)
    for number in numbers:
        tree.add(number)
    while len(level) > 1:
        level = [reduce(add, level[i : i + SPLIT_EVERY]) for i in range(0, len(level), SPLIT_EVERY)]
    assert tree.result() == level[0]


@given(n=st.integers(1, 10**9), width=st.integers(1, 10**5), kind=st.sampled_from(["u1", "f2", "f4", "f8"]))
def test_blocks_are_limited_in_rows_and_bytes(n: int, width: int, kind: str) -> None:
    rows = rows_per_block(n, width, np.dtype(kind))
    assert 1 <= rows <= BLOCK_ROWS
    assert rows == 1 or rows * width * (8 if kind == "f8" else 4) <= BLOCK_BYTES


def test_a_map_is_lazy_and_persisting_computes_each_block_once() -> None:
    calls: list[int] = []

    def double(block: int) -> int:
        calls.append(block)
        return 2 * block

    doubled = LocalBlocks.of([1, 2, 3]).map(double)
    assert calls == []
    assert doubled.first() == 2 and calls == [1]
    persisted = doubled.persist()
    assert list(persisted) == list(persisted) == [2, 4, 6]
    assert calls == [1, 1, 2, 3]


def test_others_and_arguments_come_after_the_block() -> None:
    blocks = LocalBlocks.of(["a", "b"])
    others = blocks.from_items([1, 2])
    assert list(blocks.map(lambda *values: values, others, args=("x",))) == [("a", 1, "x"), ("b", 2, "x")]
    assert blocks.total(lambda block, other, factor: factor * other, others, args=(10,)) == 30
