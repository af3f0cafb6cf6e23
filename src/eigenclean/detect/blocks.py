"""Rows in blocks, wherever they are: sums over them add up, so a detector is written once for any size."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from eigenclean.arrays import Array, row_chunks, working_dtype
from eigenclean.threads import in_threads

T = TypeVar("T")
U = TypeVar("U")

BLOCK_BYTES = 1 << 27  # 128 MiB: a product of matrices of this size takes much longer than the way to it
TOGETHER = 16  # sums that are added up one after the other
BLOCK_ROWS = 1 << 16  # narrow rows come with tables that are wider than they are


class Blocks(ABC, Generic[T]):
    """Something for each block of rows, in order: features, labels, tables; can be gone through again and again.

    In memory the blocks are slices of an array, for data on a disk they are read at every pass, and on a cluster
    they are wherever a worker has made them. What is done with them is the same.

    Attributes:
        budget: bytes that sums over the blocks may take.
    """

    budget: int = 1 << 31

    @abstractmethod
    def map(self, function: Callable[..., U], *others: "Blocks[Any]", given: Sequence[Any] = ()) -> "Blocks[U]":
        """``function(block, *blocks of the others, *given)`` for each block; made anew at every use."""

    @abstractmethod
    def keep(self) -> "Blocks[T]":
        """The same, made once and kept where it was made."""

    @abstractmethod
    def total(
        self,
        function: Callable[..., U],
        *others: "Blocks[Any]",
        given: Sequence[Any] = (),
        start: Callable[[], U] | None = None,
    ) -> U:
        """The sum of ``function(block, *blocks of the others, *given)``; tuples add up part by part.

        With a ``start``, the function gets what that makes as its first argument, adds to it and returns it. Such
        sums are large: no more of them are held than must be.
        The order of the sum is always that of a `Tree`, so that engines agree to the last digit.
        """

    @abstractmethod
    def beside(self, items: Sequence[U]) -> "Blocks[U]":
        """One of ``items`` beside each block."""

    @abstractmethod
    def first(self) -> T:
        """The first one alone."""

    @abstractmethod
    def __iter__(self) -> Iterator[T]:
        """One after the other, here."""

    @abstractmethod
    def __len__(self) -> int:
        """How many."""


class LocalBlocks(Blocks[T]):
    """Blocks of this process, one after the other.

    Args:
        make: begins a pass over the blocks.
        n: how many there are.
        store: where kept blocks go; None leaves them in memory.
        first: makes the first block alone, where that is cheaper than to begin a pass.
        kept: they have been made already, so that several can be worked on at a time.

    >>> rows = LocalBlocks.of([np.arange(3), np.arange(2)])
    >>> int(rows.map(np.square).total(np.sum))
    6
    """

    def __init__(
        self,
        make: Callable[[], Iterable[T]],
        n: int,
        *,
        store: Callable[[Any], Any] | None = None,
        first: Callable[[], T] | None = None,
        kept: bool = False,
    ) -> None:
        self._make, self._n, self._store = make, n, store
        self._first, self._kept = first, kept

    @classmethod
    def of(cls, items: Sequence[T]) -> "LocalBlocks[T]":
        """Blocks that are there already."""
        return cls(lambda: items, len(items))

    def map(self, function: Callable[..., U], *others: Blocks[Any], given: Sequence[Any] = ()) -> "LocalBlocks[U]":
        """One function after the other, block by block: nothing is held in between."""
        return self._like(
            lambda: _mapped(function, (self, *others), given),
            first=lambda: function(self.first(), *(other.first() for other in others), *given),
            kept=self._kept,
        )

    def keep(self) -> "LocalBlocks[T]":
        """A list of them."""
        items = [item if self._store is None else self._store(item) for item in self]
        return self._like(lambda: items, kept=True)

    def total(
        self,
        function: Callable[..., U],
        *others: Blocks[Any],
        given: Sequence[Any] = (),
        start: Callable[[], U] | None = None,
    ) -> U:
        """Added up as the blocks come."""
        tree = Tree()

        def own(parts: tuple[Any, ...]) -> U:
            return function(*parts, *given) if start is None else function(start(), *parts, *given)

        parts = _side_by_side((self, *others))
        several = self._kept and start is None and len(self) > 1
        for one in in_threads(own, parts) if several else map(own, parts):
            tree.add(one)
            del one
        result: U = tree.sum()
        return result

    def beside(self, items: Sequence[U]) -> "LocalBlocks[U]":
        """The items as they are."""
        assert len(items) == len(self)
        return self._like(lambda: items)

    def first(self) -> T:
        """The others are not made."""
        return next(iter(self)) if self._first is None else self._first()

    def __iter__(self) -> Iterator[T]:
        return iter(self._make())

    def __len__(self) -> int:
        return self._n

    def _like(self, make: Callable[[], Iterable[U]], **how: Any) -> "LocalBlocks[U]":
        other = LocalBlocks(make, self._n, store=self._store, **how)
        other.budget = self.budget
        return other


# A block is let go before the next one is asked for: there may be room for few of them.


def _side_by_side(blocks: Sequence[Iterable[Any]]) -> Iterator[tuple[Any, ...]]:
    passes = [iter(one) for one in blocks]
    for first in passes[0]:
        parts = (first, *(next(other) for other in passes[1:]))
        del first
        yield parts
        del parts


def _mapped(function: Callable[..., U], blocks: Sequence[Iterable[Any]], given: Sequence[Any]) -> Iterator[U]:
    for parts in _side_by_side(blocks):
        result = function(*parts, *given)
        del parts
        yield result
        del result


class Tree:
    """A sum of many in a fixed order: each `TOGETHER` one after the other, then as many of these sums, and so on.

    No more than a sum of each size is held at a time.

    >>> tree = Tree()
    >>> for number in range(1000):
    ...     tree.add((number, 1))
    >>> tree.sum()
    (499500, 1000)
    """

    def __init__(self) -> None:
        self._levels: list[tuple[int, Any]] = []  # how many were added up, and their sum

    def add(self, item: Any, level: int = 0) -> None:
        """The next one; it is not needed afterwards, and may be changed."""
        if level == len(self._levels):
            self._levels.append((0, None))
        n, total = self._levels[level]
        total = item if n == 0 else added(total, item, own=True)
        if n + 1 == TOGETHER:
            self._levels[level] = (0, None)
            self.add(total, level + 1)
        else:
            self._levels[level] = (n + 1, total)

    def sum(self) -> Any:
        """Of all that were added."""
        total: Any = None
        for n, more in self._levels:  # what is left over counts as one of the next size
            if n:
                total = more if total is None else added(more, total, own=True)
        return total


def added(a: Any, b: Any, *, own: bool = False) -> Any:
    """The sum of two values, or of two tuples part by part; an array that is our ``own`` is added to in place.

    >>> added((1, (2, 3)), (10, (20, 30)))
    (11, (22, 33))
    """
    if isinstance(a, tuple):
        parts = (added(one, other, own=own) for one, other in zip(a, b, strict=True))
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)  # a named tuple, or a plain one
    if own:
        a += b
        return a
    return a + b


def rows_per_block(n: int, width: int, dtype: np.dtype[Any]) -> int:
    """How many of ``n`` rows a block has, the same for every way of going through the data.

    Where there are several blocks, they are half as large: one is read while another is worked on.

    >>> rows_per_block(10**6, 2048, np.dtype(np.float32)), rows_per_block(15_000, 2048, np.dtype(np.float32))
    (8192, 15000)
    """
    row = width * working_dtype(dtype).itemsize
    if n <= BLOCK_ROWS and n * row <= BLOCK_BYTES:
        return max(1, n)
    return max(1, min(BLOCK_ROWS, BLOCK_BYTES // 2 // row))


def block_of(features: Array) -> int:
    """How many rows a block of this array has."""
    n, width = features.shape
    return rows_per_block(n, width, features.dtype)


def in_blocks(array: Array, rows: int) -> LocalBlocks[Array]:
    """An array, ``rows`` rows at a time, without a copy."""
    return LocalBlocks.of([array[part] for part in row_chunks(len(array), 1, rows)])
