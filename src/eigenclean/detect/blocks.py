"""Rows in blocks: detectors are written once as maps and sums over blocks, whatever the size of the data.

`Blocks` is a small map-reduce interface. In memory the blocks are slices of an array (`LocalBlocks`), data on a
disk are read again at every pass, and on a cluster the blocks are Dask tasks. Every engine cuts blocks at the same
rows and sums them in the same order, so that all engines give equal numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from eigenclean.arrays import Array, row_chunks, working_dtype
from eigenclean.threads import in_threads

T = TypeVar("T")
U = TypeVar("U")

BLOCK_BYTES = 1 << 27  # 128 MiB: the arithmetic on such a block takes much longer than the overhead per block
BLOCK_ROWS = 1 << 16  # a limit for narrow rows, whose n x K tables are wider than the rows themselves
SPLIT_EVERY = 16  # fan-in of the tree of sums


class Blocks(ABC, Generic[T]):
    """One item per block of rows (features, labels, tables), in order; can be iterated over repeatedly.

    Attributes:
        budget: bytes that sums over the blocks may take.
        in_memory: whether the blocks are arrays in the memory of this process, with random access to their rows.
    """

    budget: int = 1 << 31
    in_memory: bool = False

    @abstractmethod
    def map(self, function: Callable[..., U], *others: "Blocks[Any]", args: Sequence[Any] = ()) -> "Blocks[U]":
        """Lazily apply ``function(block, *blocks of the others, *args)`` to each block, at every iteration anew."""

    @abstractmethod
    def persist(self) -> "Blocks[T]":
        """Compute all blocks now and hold the results where they were computed."""

    @abstractmethod
    def total(
        self,
        function: Callable[..., U],
        *others: "Blocks[Any]",
        args: Sequence[Any] = (),
        initial: Callable[[], U] | None = None,
    ) -> U:
        """Sum ``function(block, *blocks of the others, *args)`` over the blocks; tuples are summed item by item.

        With ``initial``, the function takes an accumulator that ``initial()`` made as its first argument, adds to
        it in place and returns it. This is meant for large sums, of which as few as possible are held at a time.
        The order of the additions is always that of `TreeSum`, so that engines agree to the last digit.
        """

    @abstractmethod
    def from_items(self, items: Sequence[U]) -> "Blocks[U]":
        """Blocks of the same kind from ``items``, one per block, to be passed as ``others``."""

    @abstractmethod
    def first(self) -> T:
        """Compute the first block only."""

    @abstractmethod
    def __iter__(self) -> Iterator[T]:
        """Compute the blocks one after the other, in this process."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of blocks."""


class LocalBlocks(Blocks[T]):
    """Blocks that are computed one after the other in this process.

    Args:
        make: starts an iteration over the blocks.
        n: number of blocks.
        store: applied to each block by `persist`, for instance to move it to the disk; None leaves it in memory.
        first: computes the first block only, where that is cheaper than to start an iteration.
        persisted: the blocks are in memory already, so that several threads can work on them.

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
        persisted: bool = False,
    ) -> None:
        self._make, self._n, self._store = make, n, store
        self._first, self._persisted = first, persisted

    @classmethod
    def of(cls, items: Sequence[T]) -> "LocalBlocks[T]":
        """Blocks from items that are in memory."""
        blocks = cls(lambda: items, len(items))
        blocks.in_memory = True
        return blocks

    def map(self, function: Callable[..., U], *others: Blocks[Any], args: Sequence[Any] = ()) -> "LocalBlocks[U]":
        """Chain the function to the iteration: no intermediate blocks are held."""
        return self._with_make(
            lambda: _mapped(function, (self, *others), args),
            first=lambda: function(self.first(), *(other.first() for other in others), *args),
            persisted=self._persisted,
        )

    def persist(self) -> "LocalBlocks[T]":
        """Hold the blocks in a list, each passed through ``store``."""
        items = [item if self._store is None else self._store(item) for item in self]
        return self._with_make(lambda: items, persisted=True)

    def total(
        self,
        function: Callable[..., U],
        *others: Blocks[Any],
        args: Sequence[Any] = (),
        initial: Callable[[], U] | None = None,
    ) -> U:
        """Sum as the blocks come; small sums over persisted blocks are computed by several threads."""

        def term(blocks: tuple[Any, ...]) -> U:
            return function(*blocks, *args) if initial is None else function(initial(), *blocks, *args)

        tree, blocks = TreeSum(), _zipped((self, *others))
        in_parallel = self._persisted and initial is None and len(self) > 1
        for summand in in_threads(term, blocks) if in_parallel else map(term, blocks):
            tree.add(summand)
            del summand
        result: U = tree.result()
        return result

    def from_items(self, items: Sequence[U]) -> "LocalBlocks[U]":
        """Blocks of the same number from items in memory."""
        assert len(items) == len(self)
        return self._with_make(lambda: items)

    def first(self) -> T:
        """Compute the first block only."""
        return next(iter(self)) if self._first is None else self._first()

    def __iter__(self) -> Iterator[T]:
        return iter(self._make())

    def __len__(self) -> int:
        return self._n

    def _with_make(
        self, make: Callable[[], Iterable[U]], *, first: Callable[[], U] | None = None, persisted: bool = False
    ) -> "LocalBlocks[U]":
        blocks = LocalBlocks(make, self._n, store=self._store, first=first, persisted=persisted)
        blocks.budget = self.budget
        return blocks


# These generators drop their reference to a block before the next one is computed: memory may hold few blocks.


def _zipped(blocks: Sequence[Iterable[Any]]) -> Iterator[tuple[Any, ...]]:
    first, *others = (iter(iterable) for iterable in blocks)
    for block in first:
        aligned = (block, *(next(other) for other in others))
        del block
        yield aligned
        del aligned


def _mapped(function: Callable[..., U], blocks: Sequence[Iterable[Any]], args: Sequence[Any]) -> Iterator[U]:
    for aligned in _zipped(blocks):
        result = function(*aligned, *args)
        del aligned
        yield result
        del result


class TreeSum:
    """A running sum in a fixed order: groups of `SPLIT_EVERY` items, then groups of as many group sums, and so on.

    Only one partial sum per level of the tree is held.

    >>> tree = TreeSum()
    >>> for number in range(1000):
    ...     tree.add((number, 1))
    >>> tree.result()
    (499500, 1000)
    """

    def __init__(self) -> None:
        self._levels: list[tuple[int, Any]] = []  # number of summands, and their sum

    def add(self, item: Any, level: int = 0) -> None:
        """Add the next item, which may be overwritten by later additions."""
        if level == len(self._levels):
            self._levels.append((0, None))
        n, partial = self._levels[level]
        partial = item if n == 0 else add(partial, item, in_place=True)
        if n + 1 == SPLIT_EVERY:
            self._levels[level] = (0, None)
            self.add(partial, level + 1)
        else:
            self._levels[level] = (n + 1, partial)

    def result(self) -> Any:
        """The sum of all items so far; an incomplete group counts as one item of the next level."""
        total: Any = None
        for n, partial in self._levels:
            if n:
                total = partial if total is None else add(partial, total, in_place=True)
        return total


def add(a: Any, b: Any, *, in_place: bool = False) -> Any:
    """The sum of two values, or of two tuples item by item; ``in_place`` adds to the arrays of ``a``.

    >>> add((1, (2, 3)), (10, (20, 30)))
    (11, (22, 33))
    """
    if isinstance(a, tuple):
        items = (add(left, right, in_place=in_place) for left, right in zip(a, b, strict=True))
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)  # a named tuple, or a plain one
    if in_place:
        a += b
        return a
    return a + b


def rows_per_block(n: int, width: int, dtype: np.dtype[Any]) -> int:
    """Number of rows of a block when ``n`` rows are split; every engine uses this number.

    If there are several blocks, they are half as large: one is read while another is worked on.

    >>> rows_per_block(10**6, 2048, np.dtype(np.float32)), rows_per_block(15_000, 2048, np.dtype(np.float32))
    (8192, 15000)
    """
    row_bytes = width * working_dtype(dtype).itemsize
    if n <= BLOCK_ROWS and n * row_bytes <= BLOCK_BYTES:
        return max(1, n)
    return max(1, min(BLOCK_ROWS, BLOCK_BYTES // 2 // row_bytes))


def block_rows(features: Array) -> int:
    """Number of rows of a block of this array."""
    n, width = features.shape
    return rows_per_block(n, width, features.dtype)


def split_rows(array: Array, rows: int) -> LocalBlocks[Array]:
    """Blocks of ``rows`` rows of an array, without a copy."""
    return LocalBlocks.of([array[chunk] for chunk in row_chunks(len(array), 1, rows)])
