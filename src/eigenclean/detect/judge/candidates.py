"""Candidate classes of each row and their scores by each view: all classes, or the best few of very many."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from eigenclean.arrays import Bools, Float64s, Floats, Ints, row_chunks
from eigenclean.detect.judge.discriminants import Discriminants
from eigenclean.detect.judge.transition_matrix import PairCounts, PairLayout, all_pairs
from eigenclean.detect.judge.unit_rows import UnitRows
from eigenclean.threads import in_threads

MAX_DENSE_CLASSES = 200  # with more classes, tables of n x K would not fit: each row has its best candidates only
N_CANDIDATES = 64
_CHUNK_BYTES = 1 << 18  # of one table; several of them fit into the processor's cache
_MAX_PAIR_TABLE = 1 << 25  # entries of a table of all pairs by which observed pairs are numbered
_MAX_DENSE_PAIRS = 1 << 22  # up to so many pairs, a partial block counts them in a dense K x K table


@dataclass(frozen=True, eq=False)
class Candidates:
    """Classes that may be right for each row of a block, the given class always among them.

    Tables have shape candidates x rows (m x n), because most of the work is sums over the candidates of a row.

    Attributes:
        classes: m x n class numbers.
        values: views x m x n, the scores of those classes by each view.
        given: n, the given class.
        n_classes: K.
        is_partial: whether this is one of several blocks, whose sums are added to those of the others.
        known: n, the right class where people have verified it, -1 elsewhere; None if nobody has.
        is_sorted: whether rows are in the order of their given classes, which makes sums over pairs cheap.
    """

    classes: Ints
    values: Floats
    given: Ints
    n_classes: int
    is_partial: bool = False
    known: Ints | None = None
    is_sorted: bool = False

    @classmethod
    def of(
        cls,
        views: Sequence[tuple[Discriminants, UnitRows]],
        given: Ints,
        tables: Sequence[Floats] = (),
        *,
        is_partial: bool = False,
    ) -> "Candidates":
        """All classes if there are at most `MAX_DENSE_CLASSES`, else the best `N_CANDIDATES` of the first view.

        With so many classes, discriminants are computed in float32, which takes half the time and memory.

        Args:
            views: for each view of moments, its discriminants and its rows.
            given: the given class of each row.
            tables: n x K scores of the other views.
            is_partial: see the attribute.
        """
        k = views[0][0].n_classes if views else tables[0].shape[1]
        if k <= MAX_DENSE_CLASSES:
            return cls.from_tables(
                [*(discriminants.of(rows) for discriminants, rows in views), *tables], given, is_partial=is_partial
            )
        n = len(given)
        classes = np.empty((N_CANDIDATES, n), dtype=np.uint16 if k <= 1 << 16 else np.int32)
        values = np.empty((len(views) + len(tables), N_CANDIDATES, n), dtype=np.float32)

        def select(chunk: tuple[Ints, Floats]) -> None:
            index, table = chunk
            given_entries = np.arange(len(index)), given[index]
            given_values, table[given_entries] = table[given_entries], np.inf  # so that it is among the best
            best = np.argpartition(table, k - N_CANDIDATES, axis=1)[:, -N_CANDIDATES:]
            table[given_entries] = given_values
            classes[:, index] = best.T
            values[0][:, index] = np.take_along_axis(table, best, axis=1).T

        def look_up(chunk: tuple[Ints, Floats], view: int) -> None:
            index, table = chunk
            values[view][:, index] = np.take_along_axis(table, classes[:, index].T.astype(np.intp), axis=1).T

        for view in range(len(values)):
            chunks = _score_chunks(*views[view]) if view < len(views) else _table_chunks(tables[view - len(views)])
            function = select if view == 0 else partial(look_up, view=view)
            deque(in_threads(function, chunks), maxlen=0)
        return cls(classes, values, given, k, is_partial)

    @classmethod
    def from_tables(cls, tables: Sequence[Floats], given: Ints, *, is_partial: bool = False) -> "Candidates":
        """All classes as candidates, from the n x K scores of each view."""
        n, k = tables[0].shape
        values = np.empty((len(tables), k, n), dtype=tables[0].dtype)
        for view, table in enumerate(tables):
            values[view] = table.T
        return cls(_all_classes(k, n), values, given, k, is_partial)

    @classmethod
    def concatenate(cls, blocks: "Sequence[Candidates]") -> "Candidates":
        """The rows of all blocks, as one block that is not partial."""
        values = np.concatenate([block.values for block in blocks], axis=2)
        given = np.concatenate([block.given for block in blocks])
        k = blocks[0].n_classes
        known = None if blocks[0].known is None else np.concatenate([block.known for block in blocks])
        if blocks[0].has_all_classes:
            return cls(_all_classes(k, len(given)), values, given, k, known=known)
        return cls(np.concatenate([block.classes for block in blocks], axis=1), values, given, k, known=known)

    def take(self, rows: Ints) -> "Candidates":
        """These rows, as one block that is not partial."""
        known = None if self.known is None else self.known[rows]
        k = self.n_classes
        classes = _all_classes(k, len(rows)) if self.has_all_classes else self.classes.take(rows, axis=1)
        # An index in brackets would put the entries of a row next to each other, and slow down all sums over rows.
        return Candidates(classes, self.values.take(rows, axis=2), self.given[rows], k, known=known)

    def by_given(self) -> "Candidates":
        """The same rows in the order of their given classes, as one block that is not partial."""
        return self if self.is_sorted else replace(self.take(np.argsort(self.given, kind="stable")), is_sorted=True)

    def chunks(self) -> "Iterator[Candidates]":
        """The rows in order, so few at a time that tables stay in the processor's cache.

        Pairs of few candidates among many classes are counted for all rows at once, so these are one chunk.
        """
        n, k = len(self), self.n_classes
        row_bytes = self.values.itemsize * len(self.classes)
        if not self.has_all_classes or n * row_bytes <= _CHUNK_BYTES:
            yield self
            return
        for rows in row_chunks(n, row_bytes, _CHUNK_BYTES):
            values = np.ascontiguousarray(self.values[:, :, rows])
            known = None if self.known is None else self.known[rows]
            classes, given = self.classes[:, rows], self.given[rows]
            yield Candidates(classes, values, given, k, self.is_partial, known, self.is_sorted)

    def knowing(self, known: Ints) -> "Candidates":
        """The same rows, with the right classes that people have verified."""
        return replace(self, known=known)

    @cached_property
    def is_possible(self) -> Bools:
        """m x n: False for the candidates of rows of which people know that another class is right."""
        assert self.known is not None
        matches = self.classes == self.known
        return np.asarray(matches | ~matches.any(axis=0))

    def __len__(self) -> int:
        return len(self.given)

    def __getstate__(self) -> dict[str, Any]:
        state = {name: vars(self)[name] for name in self.__dataclass_fields__}
        return {**state, "classes": None} if self.has_all_classes else state  # cheaper to rebuild than to send

    def __setstate__(self, state: dict[str, Any]) -> None:
        if state["classes"] is None:
            state["classes"] = _all_classes(state["n_classes"], len(state["given"]))
        self.__dict__.update(state)

    @property
    def has_all_classes(self) -> bool:
        """Whether all classes are candidates of every row."""
        return len(self.classes) == self.n_classes

    @cached_property
    def given_index(self) -> Ints:
        """Index of the given class among the candidates of each row."""
        return self.given if self.has_all_classes else np.asarray((self.classes == self.given).argmax(axis=0))

    @property
    def given_entries(self) -> tuple[Ints, Ints]:
        """Index into an m x n table that selects the entry of the given class of every row."""
        return self.given_index, np.arange(len(self))

    @cached_property
    def weakest_entries(self) -> tuple[Ints, Ints]:
        """Entries of the candidate of each row with the lowest score, the given class apart.

        It stands for all classes that are no candidates: their scores are lower, but they are many.
        """
        scores = self.values[0].copy()
        scores[self.given_entries] = np.inf
        return np.asarray(scores.argmin(axis=0)), np.arange(len(self))

    def value_moments(self) -> tuple[int, Float64s, Float64s]:
        """Number of scores of a view, and for each view their sum and sum of squares; these add up over blocks."""
        flat = self.values.reshape(len(self.values), -1)
        squares = np.array([np.multiply(view, view).sum(dtype=np.float64) for view in flat])
        return flat.shape[1], flat.sum(axis=1, dtype=np.float64), squares

    def broadcast(self, per_class: Floats) -> Floats:
        """A value per class in a shape that broadcasts against m x n tables: K x 1 or m x n."""
        return np.asarray(per_class[:, None] if self.has_all_classes else per_class.take(self._class_index))

    def sum_per_class(self, table: Floats) -> Float64s:
        """Sum of an m x n table over the rows, for each class."""
        if self.has_all_classes:
            return np.asarray(table.sum(axis=1), dtype=np.float64)
        return sum_by_group(self._class_index, table, self.n_classes)

    @property
    def _class_index(self) -> Ints:
        """The classes in the type of an index; kept unless this is one of the blocks of all rows."""
        return self.classes.astype(np.intp) if self.is_partial else self._kept_class_index

    @cached_property
    def _kept_class_index(self) -> Ints:
        return self.classes.astype(np.intp)

    def sum_per_pair(self, table: Floats) -> PairCounts:
        """Sum of an m x n table for each pair (candidate class, given class)."""
        if self.has_all_classes and self.is_sorted and len(self):
            starts = np.flatnonzero(np.diff(self.given, prepend=-1))
            sums = np.zeros((self.n_classes, self.n_classes))
            sums[:, self.given[starts]] = np.add.reduceat(table, starts, axis=1)
            return PairCounts(self.pair_keys, sums.ravel(), self._pair_layout)
        counts = sum_by_group(self.pair_index, table, len(self.pair_keys))
        return PairCounts(self.pair_keys, counts, self._pair_layout)

    @property
    def has_dense_pairs(self) -> bool:
        """Whether sums per pair are dense, over all K x K pairs, instead of the observed pairs only."""
        return self.n_classes <= MAX_DENSE_CLASSES or (self.is_partial and self.n_classes**2 <= _MAX_DENSE_PAIRS)

    @property
    def pair_keys(self) -> NDArray[np.int64]:
        """The pairs (candidate class, given class) that are summed over, as class·K + given, sorted."""
        return self._pair_layout.keys

    @property
    def pair_index(self) -> Ints:
        """Index of each entry of an m x n table in the `pair_keys`."""
        return self._pairs() if self.has_dense_pairs else self._observed_pairs[1]

    @property
    def _pair_layout(self) -> PairLayout:
        return all_pairs(self.n_classes) if self.has_dense_pairs else self._observed_layout

    @cached_property
    def _observed_layout(self) -> PairLayout:
        return PairLayout(self._observed_pairs[0], self.n_classes)

    @cached_property
    def _observed_pairs(self) -> tuple[NDArray[np.int64], Ints]:
        pairs, n_pairs = self._pairs(), self.n_classes**2
        if n_pairs <= min(_MAX_PAIR_TABLE, 16 * pairs.size):  # the same as below, without a sort
            present = np.zeros(n_pairs, dtype=bool)
            present[pairs] = True
            observed = np.flatnonzero(present)
            numbers = np.empty(n_pairs, dtype=np.int32)
            numbers[observed] = np.arange(len(observed), dtype=np.int32)
            return observed, numbers[pairs.ravel()].astype(np.intp).reshape(pairs.shape)
        keys, index = np.unique(pairs, return_inverse=True)
        return keys, index.reshape(pairs.shape)

    def _pairs(self) -> Ints:
        return np.asarray(self.classes.astype(np.intp, copy=False) * self.n_classes + self.given)

    def memberships(self, table: Floats) -> Floats | csr_array:
        """An m x n table as n x K class memberships, sparse if the candidates are not all classes."""
        if self.has_all_classes:
            return np.ascontiguousarray(table.T)
        n = table.shape[1]
        nonzero = table.T != 0  # most labels are right, and the other candidates of their rows have weight 0
        ends = np.concatenate(([0], np.cumsum(nonzero.sum(axis=1))))
        return csr_array((table.T[nonzero], self.classes.T[nonzero], ends), shape=(n, self.n_classes))


def bytes_per_row(k: int) -> int:
    """What the judge keeps of every row of a stream: scores of ``k`` classes by the two views of moments.

    Up to `MAX_DENSE_CLASSES` there are rounds, and a round is compared with the one before.

    >>> bytes_per_row(10), bytes_per_row(5000)
    (160, 640)
    """
    return 2 * 8 * k if k <= MAX_DENSE_CLASSES else 10 * N_CANDIDATES


def standard_deviations(n: int, totals: Float64s, sums_of_squares: Float64s) -> list[float]:
    """The standard deviations of ``n`` numbers each, from their sums and sums of squares.

    >>> standard_deviations(2, np.array([4.0]), np.array([10.0]))
    [1.0]
    """
    variances = np.maximum(sums_of_squares / n - (totals / n) ** 2, 0.0)
    return [float(value) for value in np.sqrt(variances)]


def sum_by_group(groups: Ints, values: Floats, n_groups: int) -> Float64s:
    """Sum of the ``values`` in each group.

    >>> sum_by_group(np.array([[0, 2], [2, 2]]), np.array([[1.0, 2.0], [3.0, 4.0]]), 3)
    array([1., 0., 9.])
    """
    return np.bincount(groups.ravel(), values.ravel(), n_groups).astype(np.float64, copy=False)


def _score_chunks(discriminants: Discriminants, rows: UnitRows) -> Iterator[tuple[Ints, Floats]]:
    """Row numbers and their n x K scores in float32, in chunks."""
    for fold, index, block in rows.blocks():
        for chunk in row_chunks(len(index), 1, max(1, (1 << 22) // discriminants.n_classes)):
            yield index[chunk], discriminants.of_block(fold, block[chunk].astype(np.float32, copy=False))


def _table_chunks(table: Floats) -> Iterator[tuple[Ints, Floats]]:
    for chunk in row_chunks(len(table), 1, max(1, (1 << 22) // table.shape[1])):
        yield np.arange(len(table))[chunk], table[chunk].astype(np.float32)


def _all_classes(k: int, n: int) -> Ints:
    return np.broadcast_to(np.arange(k)[:, None], (k, n))
