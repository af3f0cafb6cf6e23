"""Which classes may be right for each row: all of them, or the best few of very many."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from eigenclean.arrays import Array, Float64s, Floats, Ints, row_chunks
from eigenclean.detect.judge.discriminants import Discriminants
from eigenclean.detect.judge.transition_matrix import Pairs, all_pairs
from eigenclean.detect.judge.unit_rows import UnitRows
from eigenclean.threads import in_threads

T = TypeVar("T")

MANY = 200  # beyond this many classes, each row keeps its likeliest alone: tables of n x K would not fit
FEW = 64
_SQUARE = 1 << 22  # pairs of classes that one of many blocks counts in a whole K x K table


@dataclass(frozen=True, eq=False)
class Candidates:
    """Classes that may be right for each row, the given one always among them.

    Tables lie class by class (m x n), because most of the work is sums over the classes of a row.

    Attributes:
        classes: m x n class numbers.
        values: m x n discriminants of those classes.
        given: n, the given class.
        n_classes: K.
        lots: n, a number drawn for each row, by its content; a part of the rows is those with the lowest.
        is_partial: whether this is one block of many, whose sums are added to those of the others.
    """

    classes: Ints
    values: Floats
    given: Ints
    n_classes: int
    lots: NDArray[np.uint64] | None = None
    is_partial: bool = False

    @classmethod
    def of(
        cls, discriminants: Discriminants, rows: UnitRows, given: Ints, lots: NDArray[np.uint64] | None = None
    ) -> "Candidates":
        """Everything if there are few classes, else the best `FEW`."""
        k = discriminants.n_classes
        if k <= MANY:
            return cls.everything(discriminants.of(rows), given, lots)
        classes = np.empty((FEW, len(rows)), dtype=np.uint16 if k <= 1 << 16 else np.int32)
        values = np.empty((FEW, len(rows)), dtype=rows.dtype)

        def look(part: tuple[int, Ints, Floats]) -> None:
            fold, index, block = part
            table = discriminants.of_block(fold, block)
            own = np.arange(len(index)), given[index]
            kept, table[own] = table[own], np.inf  # so that it is among the best
            best = np.argpartition(table, k - FEW, axis=1)[:, -FEW:]
            table[own] = kept
            classes[:, index] = best.T
            values[:, index] = np.take_along_axis(table, best, axis=1).T

        deque(in_threads(look, _cut(rows.blocks(), (1 << 22) // k)), maxlen=0)
        return cls(classes, values, given, k, lots)

    @classmethod
    def everything(cls, values: Floats, given: Ints, lots: NDArray[np.uint64] | None = None) -> "Candidates":
        """All classes, from an n x K table of discriminants."""
        n, k = values.shape
        return cls(_all_classes(k, n), np.ascontiguousarray(values.T), given, k, lots)

    @classmethod
    def joined(cls, parts: "Sequence[Candidates]") -> "Candidates":
        """The rows of all parts."""
        values, given = np.concatenate([part.values for part in parts], axis=1), [part.given for part in parts]
        whole, k = parts[0].whole, parts[0].n_classes
        classes = (
            np.concatenate([part.classes for part in parts], axis=1)
            if not whole
            else _all_classes(k, len(values.T))
        )
        return cls(classes, values, np.concatenate(given), k)

    def __len__(self) -> int:
        return len(self.given)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: vars(self)[name] for name in self.__dataclass_fields__}
        return {**state, "classes": None} if self.whole else state  # all of them need not travel

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["classes"] is None:
            state["classes"] = _all_classes(state["n_classes"], len(state["given"]))
        self.__dict__.update(state)

    def thinned(self, at_most: int) -> "Candidates":
        """A part of the rows, the same ones in whatever order they come."""
        if len(self) <= at_most:
            return self
        lots = np.arange(len(self)) if self.lots is None else self.lots
        return self.taken(lowest(lots, at_most))

    def taken(self, rows: Ints) -> "Candidates":
        """Those of these rows."""
        return Candidates(self.classes[:, rows], self.values[:, rows], self.given[rows], self.n_classes)

    def in_block(self) -> "Candidates":
        """The same as one block of many."""
        return replace(self, lots=None, is_partial=True)

    def total(self, function: Callable[..., T], args: Sequence[Any] = ()) -> T:
        """``function(self, *args)``: a single block is all there is."""
        return function(self, *args)

    @property
    def spread(self) -> float:
        """Standard deviation of the discriminants."""
        return float(self.values.std())

    @cached_property
    def own(self) -> Ints:
        """Place of the given class among the candidates of each row."""
        return self.given if self.whole else np.asarray((self.classes == self.given).argmax(axis=0))

    @property
    def everyone(self) -> tuple[Ints, Ints]:
        """Where the given classes are in a table."""
        return self.own, np.arange(len(self))

    @property
    def whole(self) -> bool:
        """Whether all classes are candidates everywhere."""
        return len(self.classes) == self.n_classes

    @property
    def square(self) -> bool:
        """Whether pairs of classes are counted in a whole K x K table."""
        return self.n_classes <= MANY or (self.is_partial and self.n_classes**2 <= _SQUARE)

    @property
    def keys(self) -> NDArray[np.int64]:
        """The pairs (class, given class) that there are, as class·K + given, sorted."""
        return all_pairs(self.n_classes) if self.square else self._seen[0]

    @property
    def pair(self) -> Ints:
        """m x n, the number of each pair among the `keys`."""
        return self._pairs() if self.square else self._seen[1]

    @cached_property
    def _seen(self) -> tuple[NDArray[np.int64], Ints]:
        pairs = self._pairs()
        keys, pair = np.unique(pairs, return_inverse=True)
        return keys, pair.reshape(pairs.shape)

    def _pairs(self) -> Ints:
        return np.asarray(self.classes.astype(np.intp, copy=False) * self.n_classes + self.given)

    def laid_out(self, per_class: Floats) -> Floats:
        """The values of the classes, laid out as the candidates: K x 1 or m x n."""
        return np.asarray(per_class[:, None] if self.whole else per_class[self.classes])

    def per_class(self, table: Floats) -> Float64s:
        """Sum of an m x n table over the rows, for each class."""
        if self.whole:
            return np.asarray(table.sum(axis=1, dtype=np.float64))
        return sums(self.classes, table, self.n_classes)

    def per_pair(self, table: Floats) -> Pairs:
        """Sum of an m x n table, for each of the `keys`."""
        return Pairs(self.keys, sums(self.pair, table, len(self.keys)))

    def members(self, table: Floats) -> Floats | csr_array:
        """An m x n table as n x K, sparse when there are very many classes."""
        if self.whole:
            return np.ascontiguousarray(table.T)
        n = table.shape[1]
        there = table.T != 0  # most labels are right, and their other classes have nothing of them
        ends = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
        return csr_array((table.T[there], self.classes.T[there], ends), shape=(n, self.n_classes))


def _cut(blocks: Iterable[tuple[int, Ints, Floats]], most: int) -> Iterator[tuple[int, Ints, Floats]]:
    """Blocks of one fold in pieces of so many rows at most."""
    for fold, index, block in blocks:
        for part in row_chunks(len(index), 1, max(1, most)):
            yield fold, index[part], block[part]


def value_moments(candidates: Candidates) -> tuple[int, float, float]:
    """Number, sum and sum of squares of the discriminants: those of blocks add up."""
    values = candidates.values
    total = float(values.sum(dtype=np.float64))
    return values.size, total, float(np.multiply(values, values).sum(dtype=np.float64))


def spread_of(n: int, total: float, square: float) -> float:
    """The standard deviation that these moments are of.

    >>> spread_of(2, 4.0, 10.0)
    1.0
    """
    return float(np.sqrt(max(square / n - (total / n) ** 2, 0.0)))


def lowest(lots: Array, n: int) -> Ints:
    """Places of the ``n`` lowest numbers, ascending; of equal ones, the first.

    >>> lowest(np.array([3, 1, 2, 1, 1]), 2)
    array([1, 3])
    """
    limit = np.partition(lots, n - 1)[n - 1]
    below, equal = np.flatnonzero(lots < limit), np.flatnonzero(lots == limit)
    return np.sort(np.concatenate([below, equal[: n - len(below)]]))


def _all_classes(k: int, n: int) -> Ints:
    return np.broadcast_to(np.arange(k)[:, None], (k, n))


def sums(groups: Ints, values: Floats, n_groups: int) -> Float64s:
    """Sum of the ``values`` in each group.

    >>> sums(np.array([[0, 2], [2, 2]]), np.array([[1.0, 2.0], [3.0, 4.0]]), 3)
    array([1., 0., 9.])
    """
    return np.bincount(groups.ravel(), values.ravel(), n_groups).astype(np.float64, copy=False)
