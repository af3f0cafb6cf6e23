"""The candidates of all rows, in blocks, and reproducible subsamples of the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigenclean.arrays import Array, Ints
from eigenclean.detect.blocks import Blocks, LocalBlocks
from eigenclean.detect.judge.candidates import Candidates, standard_deviations

T = TypeVar("T")

MAX_SAMPLE = 20_000  # the largest subsample that is ever drawn
_OVERSAMPLING = 3  # so many times the expected number of hashes is collected: they are nearly uniform


@dataclass(frozen=True, eq=False)
class RowSample:
    """A nested random sample of rows: those with the lowest content hashes, whatever their order and blocks.

    Attributes:
        block: the block of each of the first `MAX_SAMPLE` rows, lowest hash first.
        row: its row number within the block.
    """

    block: Ints
    row: Ints

    @classmethod
    def of(cls, row_hashes: Blocks[NDArray[np.uint64]], n: int) -> "RowSample":
        """Find the rows with the lowest hashes among ``n`` rows in all blocks."""
        fraction = min(1.0, _OVERSAMPLING * MAX_SAMPLE / max(n, 1))
        lowest = list(row_hashes.map(_lowest_fraction, args=(fraction,)))
        if sum(len(rows) for rows, _ in lowest) < min(n, MAX_SAMPLE):  # many copies of few rows: not uniform
            lowest = list(row_hashes.map(_lowest_fraction, args=(1.0,)))
        block = np.repeat(np.arange(len(lowest)), [len(rows) for rows, _ in lowest])
        row = np.concatenate([rows for rows, _ in lowest])
        order = np.argsort(np.concatenate([hashes for _, hashes in lowest]), kind="stable")[:MAX_SAMPLE]
        return cls(block[order], row[order])

    def first(self, n: int, n_blocks: int) -> list[Ints]:
        """For each block, its rows among the first ``n`` of the sample, ascending."""
        block, row = self.block[:n], self.row[:n]
        return [np.sort(row[block == number]) for number in range(n_blocks)]


@dataclass(frozen=True, eq=False)
class CandidateBlocks:
    """Candidates of all rows, which sums are taken over; a single block is the simplest case.

    Attributes:
        blocks: the candidates of each block.
        n: number of rows.
        n_classes: K.
        sample: which rows a subsample takes; None takes the first ones.
    """

    blocks: Blocks[Candidates]
    n: int
    n_classes: int
    sample: RowSample | None = None

    @classmethod
    def single(cls, candidates: Candidates) -> "CandidateBlocks":
        """One block that is all there is."""
        return cls(LocalBlocks.of([candidates]), len(candidates), candidates.n_classes)

    def __len__(self) -> int:
        return self.n

    def total(self, function: Callable[..., T], args: Sequence[Any] = ()) -> T:
        """Sum ``function(candidates, *args)`` over the blocks."""
        return self.blocks.total(function, args=args)

    def subsample(self, at_most: int) -> "CandidateBlocks":
        """At most so many rows, as a single block in this process; the same rows in whatever order they come.

        They are sorted by their given classes.
        """
        if self.n <= at_most:
            return self.single(self.gathered().by_given())
        if self.sample is None:
            return self.single(self.gathered().take(np.arange(at_most)).by_given())
        assert at_most <= MAX_SAMPLE
        rows = self.blocks.from_items(self.sample.first(at_most, len(self.blocks)))
        chosen = [block for block in self.blocks.map(Candidates.take, rows) if len(block)]
        return self.single(Candidates.concatenate(chosen).by_given())

    @property
    def spreads(self) -> list[float]:
        """Standard deviation of the scores of each view."""
        return standard_deviations(*self.total(Candidates.value_moments))

    def gathered(self) -> Candidates:
        """All rows as one block in this process."""
        return self.blocks.first() if len(self.blocks) == 1 else Candidates.concatenate(list(self.blocks))


def lowest(values: Array, n: int) -> Ints:
    """Indices of the ``n`` lowest values, ascending; of equal values, the first ones.

    >>> lowest(np.array([3, 1, 2, 1, 1]), 2)
    array([1, 3])
    """
    limit = np.partition(values, n - 1)[n - 1]
    below, equal = np.flatnonzero(values < limit), np.flatnonzero(values == limit)
    return np.sort(np.concatenate([below, equal[: n - len(below)]]))


def _lowest_fraction(hashes: NDArray[np.uint64], fraction: float) -> tuple[Ints, NDArray[np.uint64]]:
    """Rows whose hash is in the lowest ``fraction`` of all 64-bit numbers, at most `MAX_SAMPLE`, and the hashes."""
    limit = np.uint64(fraction * (2**64 - 2**11))
    rows = np.flatnonzero(hashes <= limit) if fraction < 1 else np.arange(len(hashes))
    if len(rows) > MAX_SAMPLE:
        rows = rows[lowest(hashes[rows], MAX_SAMPLE)]
    return rows, hashes[rows]
