"""Rows normalised for linear discriminants, grouped by fold, and sums over them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from eigenclean.arrays import Array, Float64s, Floats, Ints, row_chunks, working_dtype
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.folds import content_hash

MAX_COLUMNS = 2048  # more columns are hashed into so many: second moments grow with the square of the columns
MIN_PROJECTED_COLUMNS = 512  # with fewer columns, nothing is gained by a projection
CACHE_LIMIT = 1 << 30  # normalised rows up to a gigabyte are kept; beyond it they are computed at every use
_CHUNK_BYTES = 1 << 19  # rows that stay in the processor's cache from one step of the normalisation to the next


class BlockStatistics(NamedTuple):
    """What is to be known about the rows of a block before they can be normalised.

    Attributes:
        n: number of rows.
        width: number of columns.
        itemsize: bytes of a number in the working precision.
        nonnegative: whether no value is below zero.
        direction_sum: sum of the unit-length rows, after square roots if ``nonnegative``.
    """

    n: int
    width: int
    itemsize: int
    nonnegative: bool
    direction_sum: Float64s

    @classmethod
    def of(cls, features: Array) -> "BlockStatistics":
        """Compute them from the rows of one block."""
        nonnegative = is_nonnegative(features)
        itemsize = working_dtype(features.dtype).itemsize
        n, width = features.shape
        return cls(n, width, itemsize, nonnegative, sum_of_directions(features, nonnegative))


class BlockScan(NamedTuple):
    """The result of the first pass over a block: content hashes of its rows, and statistics."""

    row_hashes: NDArray[np.uint64]
    statistics: BlockStatistics


def scan_block(features: Array) -> BlockScan:
    """Compute the content hashes and statistics of a block, in the first pass over the data."""
    return BlockScan(content_hash(features), BlockStatistics.of(features))


@dataclass(frozen=True)
class RowNormalizer:
    """Scales rows to unit length and subtracts the mean direction.

    Attributes:
        take_roots: take square roots first. Features that are never negative (after a ReLU, counts, pixels) have a
            few large values that would dominate; with roots, distances are Hellinger distances.
        centre: mean of the unit-length rows.
        basis: orthonormal rows that span the normalised rows of fit, when those are few; normalised rows are then
            given by their coordinates in this basis.
    """

    take_roots: bool
    centre: Float64s
    basis: Float64s | None = None

    @classmethod
    def of(cls, features: Array) -> "RowNormalizer":
        """Fit to rows in memory."""
        take_roots = is_nonnegative(features)
        return cls(take_roots, sum_of_directions(features, take_roots) / len(features))

    @classmethod
    def of_blocks(cls, features: Blocks[Array], statistics: Sequence[BlockStatistics]) -> "RowNormalizer":
        """Fit to rows in blocks, given the statistics of each block."""
        take_roots = all(block.nonnegative for block in statistics)
        if take_roots or not any(block.nonnegative for block in statistics):
            first, *rest = (block.direction_sum for block in statistics)
            total = sum(rest, first)
        else:  # blocks without a negative value took roots in their sum: repeat all sums without roots
            total = features.total(sum_of_directions, args=(False,))
        return cls(take_roots, np.asarray(total / sum(block.n for block in statistics)))

    @property
    def n_columns(self) -> int:
        """Columns of the normalised rows."""
        return len(self.centre if self.basis is None else self.basis)

    @property
    def n_dimensions(self) -> int:
        """Dimensions of the space in which the rows vary: more than columns if these are coordinates in a basis."""
        return len(self.centre)

    def projected(self, features: Blocks[Array], n: int) -> "RowNormalizer":
        """The same with coordinates in the space of the rows, if ``n`` rows have at least twice as many columns.

        Inner products, and with them discriminants, are the same. Matrices have n² instead of d² entries.
        """
        d = len(self.centre)
        if d < MIN_PROJECTED_COLUMNS or 2 * n > d:
            return self
        rows = np.concatenate(list(features.map(_apply, args=(self,)))).astype(np.float64)
        return replace(self, basis=np.ascontiguousarray(np.linalg.qr(rows.T)[0].T))

    def apply(self, features: Array, rows: Ints | None = None) -> Floats:
        """Normalise all rows, or these ``rows``; a row of zeros has no direction and becomes minus the centre."""
        n = len(features) if rows is None else len(rows)
        dtype = working_dtype(features.dtype)
        out, centre = np.empty((n, self.n_columns), dtype), self.centre.astype(dtype)
        basis = None if self.basis is None else self.basis.T.astype(dtype)
        for chunk in row_chunks(n, features.shape[1] * dtype.itemsize, _CHUNK_BYTES):
            block = features[chunk if rows is None else rows[chunk]].astype(dtype, copy=False)
            if self.take_roots:
                signed = np.min(block, initial=0) < 0  # never in fit
                block = np.copysign(np.sqrt(np.abs(block)), block) if signed else np.sqrt(block)
            if block.shape[1] > MAX_COLUMNS:
                block = hash_columns(block)
            length = np.sqrt(np.vecdot(block, block))
            length[length == 0] = 1.0
            if basis is not None:
                np.matmul(block / length[:, None] - centre, basis, out=out[chunk])
                continue
            np.divide(block, length[:, None], out=out[chunk])
            out[chunk] -= centre
        return out


def _apply(features: Array, normalizer: RowNormalizer) -> Floats:
    return normalizer.apply(features)


def is_nonnegative(features: Array) -> bool:
    """Whether no value is below zero."""
    chunks = row_chunks(len(features), 4 * features.shape[1])
    return all(np.min(features[chunk], initial=0) >= 0 for chunk in chunks)


def sum_of_directions(features: Array, take_roots: bool) -> Float64s:
    """Sum of the unit-length rows, not centred."""
    width = features.shape[1]
    uncentred = RowNormalizer(take_roots, np.zeros(min(width, MAX_COLUMNS)))
    total = np.zeros(min(width, MAX_COLUMNS))
    for chunk in row_chunks(len(features), 4 * width):
        total += uncentred.apply(features[chunk]).sum(axis=0, dtype=np.float64)
    return total


def hash_columns(rows: Floats) -> Floats:
    """Reduce to `MAX_COLUMNS` columns: random groups of columns are summed with random signs (feature hashing).

    Inner products are preserved in expectation. The groups depend on nothing but the number of columns.
    """
    d = rows.shape[1]
    rng = np.random.default_rng(d)
    starts = np.arange(MAX_COLUMNS) * d // MAX_COLUMNS
    signs = rng.choice(np.array([-1, 1], dtype=rows.dtype), size=d)
    shuffled = rows[:, rng.permutation(d)] * signs
    return np.asarray(np.add.reduceat(shuffled, starts, axis=1))


class RowMap(Protocol):
    """How rows of features are prepared for linear discriminants."""

    @property
    def n_columns(self) -> int:
        """Columns of the prepared rows."""
        ...

    def apply(self, features: Array, rows: Ints | None = None) -> Floats:
        """Prepare all rows, or these ``rows``."""
        ...


@dataclass(frozen=True)
class UnitRows:
    """Normalised rows of a block, by fold.

    Attributes:
        features: the rows as they are given.
        folds: the fold of each row.
        normalizer: how a row is normalised.
        keeps: whether normalised rows are kept for the next use, if they are not too large.
    """

    features: Array
    folds: Ints
    normalizer: RowMap
    keeps: bool = True

    @classmethod
    def of(cls, features: Array, folds: Ints, normalizer: RowMap | None = None) -> "UnitRows":
        """Fit the normalizer to these very rows unless it is given."""
        return cls(features, folds, RowNormalizer.of(features) if normalizer is None else normalizer)

    def __len__(self) -> int:
        return len(self.folds)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the normalised rows."""
        return working_dtype(self.features.dtype)

    @property
    def n_columns(self) -> int:
        """Columns of the normalised rows."""
        return self.normalizer.n_columns

    def blocks(self) -> Iterator[tuple[int, Ints, Floats]]:
        """Fold, row numbers and normalised rows, in chunks of rows of one fold."""
        for number, (fold, rows) in enumerate(self._chunks):
            block = self._cache[number] if self._fits_cache else self.normalizer.apply(self.features, rows)
            yield fold, rows, block

    def take(self, rows: Ints) -> "UnitRows":
        """These rows, each at most once; what was kept of them is not computed again."""
        if "_cache" not in vars(self) or not self._fits_cache:
            return UnitRows(self.features[rows], self.folds[rows], self.normalizer)
        taken = UnitRows(self.features[:0], self.folds[rows], self.normalizer)  # only the kept rows are needed
        numbers = np.full(len(self), -1)
        numbers[rows] = np.arange(len(rows))
        chosen = [
            (fold, numbers[index], block) for (fold, index), block in zip(self._chunks, self._cache, strict=True)
        ]
        vars(taken)["_chunks"] = [(fold, index[index >= 0]) for fold, index, _ in chosen]
        vars(taken)["_cache"] = [block[index >= 0] for _, index, block in chosen]
        return taken

    @cached_property
    def _chunks(self) -> list[tuple[int, Ints]]:
        rows_of_fold = [(int(fold), np.flatnonzero(self.folds == fold)) for fold in np.unique(self.folds)]
        width = 4 * self.n_columns
        return [(fold, rows[chunk]) for fold, rows in rows_of_fold for chunk in row_chunks(len(rows), width)]

    @property
    def _fits_cache(self) -> bool:
        return self.keeps and self.dtype.itemsize * len(self.features) * self.n_columns <= CACHE_LIMIT

    @cached_property
    def _cache(self) -> list[Floats]:
        return [self.normalizer.apply(self.features, rows) for _, rows in self._chunks]

    def second_moments(self, weight: Float64s | None, n_folds: int) -> Float64s:
        """Σ w z zᵀ of each fold, products in the precision of the features and sums in float64."""
        totals = np.zeros((n_folds, self.n_columns, self.n_columns))
        self.add_second_moments(totals, weight)
        return totals

    def add_second_moments(self, totals: Float64s, weight: Float64s | None) -> None:
        """Add Σ w z zᵀ of each fold to ``totals``, in place."""
        for fold, rows, block in self.blocks():
            _add_second_moment(totals[fold], block, None if weight is None else weight[rows])

    def class_sums(self, memberships: Floats | csr_array, n_folds: int) -> tuple[Float64s, Float64s]:
        """Σ r z (folds x K x d) and Σ r (folds x K) for soft class memberships r, n x K, dense or sparse."""
        k = memberships.shape[1]
        sums, counts = np.zeros((n_folds, k, self.n_columns)), np.zeros((n_folds, k))
        self.add_class_sums(sums, counts, memberships)
        return sums, counts

    def add_class_sums(self, sums: Float64s, counts: Float64s, memberships: Floats | csr_array) -> None:
        """Add Σ r z to ``sums`` and Σ r to ``counts``, in place."""
        for fold, rows, block in self.blocks():
            _add_sums(sums[fold], counts[fold], block, memberships[rows])

    def add_moments(
        self,
        second: Float64s,
        sums: Float64s,
        counts: Float64s,
        memberships: Floats | csr_array,
        weight: Float64s | None,
    ) -> None:
        """The same as `add_second_moments` and `add_class_sums`, but rows are normalised only once."""
        for fold, rows, block in self.blocks():
            _add_second_moment(second[fold], block, None if weight is None else weight[rows])
            _add_sums(sums[fold], counts[fold], block, memberships[rows])


def _add_second_moment(total: Float64s, block: Floats, weight: Float64s | None) -> None:
    if weight is not None:
        block = block * np.sqrt(weight).astype(block.dtype)[:, None]
    total += block.T @ block


def _add_sums(sums: Float64s, counts: Float64s, block: Floats, memberships: Floats | csr_array) -> None:
    sums += memberships.T.astype(block.dtype) @ block
    counts += memberships.sum(axis=0, dtype=np.float64)
