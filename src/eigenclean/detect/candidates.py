"""Which classes may be right for each row: all of them, or the best few of very many."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from eigenclean.arrays import Float64s, Floats, Ints
from eigenclean.detect.discriminants import Discriminants
from eigenclean.detect.unit_rows import UnitRows

MANY = 200  # beyond this many classes, each row keeps its likeliest alone: tables of n x K would not fit
FEW = 64


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
    """

    classes: Ints
    values: Floats
    given: Ints
    n_classes: int
    lots: NDArray[np.uint64] | None = None

    @classmethod
    def of(
        cls, discriminants: Discriminants, rows: UnitRows, given: Ints, lots: NDArray[np.uint64] | None = None
    ) -> "Candidates":
        """Everything if there are few classes, else the best `FEW`."""
        k = discriminants.n_classes
        if k <= MANY:
            return cls.everything(discriminants.of(rows), given, lots)
        classes = np.empty((FEW, len(rows)), dtype=np.intp)
        values = np.empty((FEW, len(rows)), dtype=rows.dtype)
        for fold, index, block in rows.blocks():
            for part in np.array_split(np.arange(len(index)), max(1, len(index) * k >> 22)):
                table = discriminants.of_block(fold, block[part])
                own = np.arange(len(part)), given[index[part]]
                kept, table[own] = table[own], np.inf  # so that it is among the best
                best = np.argpartition(table, k - FEW, axis=1)[:, -FEW:]
                table[own] = kept
                classes[:, index[part]] = best.T
                values[:, index[part]] = np.take_along_axis(table, best, axis=1).T
        return cls(classes, values, given, k, lots)

    @classmethod
    def everything(cls, values: Floats, given: Ints, lots: NDArray[np.uint64] | None = None) -> "Candidates":
        """All classes, from an n x K table of discriminants."""
        n, k = values.shape
        classes = np.broadcast_to(np.arange(k)[:, None], (k, n))
        return cls(classes, np.ascontiguousarray(values.T), given, k, lots)

    def __len__(self) -> int:
        return len(self.given)

    def thinned(self, at_most: int) -> "Candidates":
        """A part of the rows, the same ones in whatever order they come."""
        if len(self) <= at_most:
            return self
        lots = np.arange(len(self)) if self.lots is None else self.lots
        part = np.sort(np.argpartition(lots, at_most)[:at_most])
        return Candidates(self.classes[:, part], self.values[:, part], self.given[part], self.n_classes)

    @cached_property
    def own(self) -> Ints:
        """Place of the given class among the candidates of each row."""
        return self.given if self._whole else np.asarray((self.classes == self.given).argmax(axis=0))

    @property
    def everyone(self) -> tuple[Ints, Ints]:
        """Where the given classes are in a table."""
        return self.own, np.arange(len(self))

    @property
    def _whole(self) -> bool:
        return len(self.classes) == self.n_classes

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """The pairs (class, given class) that there are, as class·K + given, sorted."""
        return self._pairs[0]

    @cached_property
    def pair(self) -> Ints:
        """m x n, the number of each pair among the `keys`."""
        return self._pairs[1]

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], Ints]:
        pairs = self.classes * self.n_classes + self.given
        if self.n_classes <= MANY:
            return np.arange(self.n_classes**2), pairs
        keys, pair = np.unique(pairs, return_inverse=True)
        return keys, pair.reshape(pairs.shape)

    def spread(self, per_class: Floats) -> Floats:
        """The values of the classes, laid out as the candidates: K x 1 or m x n."""
        return np.asarray(per_class[:, None] if self._whole else per_class[self.classes])

    def per_class(self, table: Floats) -> Float64s:
        """Sum of an m x n table over the rows, for each class."""
        if self._whole:
            return np.asarray(table.sum(axis=1, dtype=np.float64))
        return sums(self.classes, table, self.n_classes)

    def per_pair(self, table: Floats) -> Float64s:
        """Sum of an m x n table, for each of the `keys`."""
        return sums(self.pair, table, len(self.keys))

    def members(self, table: Floats) -> Floats | csr_array:
        """An m x n table as n x K, sparse when there are very many classes."""
        if self._whole:
            return np.ascontiguousarray(table.T)
        m, n = table.shape
        ends = np.arange(0, n * m + 1, m)
        return csr_array((table.T.ravel(), self.classes.T.ravel(), ends), shape=(n, self.n_classes))


def sums(groups: Ints, values: Floats, n_groups: int) -> Float64s:
    """Sum of the ``values`` in each group.

    >>> sums(np.array([[0, 2], [2, 2]]), np.array([[1.0, 2.0], [3.0, 4.0]]), 3)
    array([1., 0., 9.])
    """
    return np.bincount(groups.ravel(), values.ravel(), n_groups).astype(np.float64, copy=False)
