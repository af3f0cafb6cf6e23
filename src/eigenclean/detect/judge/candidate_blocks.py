"""The candidates of all rows, block by block: what is summed over rows is summed over blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from eigenclean.arrays import Ints
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.judge.candidates import Candidates, lowest, spread_of, value_moments

T = TypeVar("T")

MOST = 20_000  # the largest part of the rows that anyone asks for
_ENOUGH = 3  # times as many lots as are needed are looked at: they are as good as random


@dataclass(frozen=True, eq=False)
class Draw:
    """Which rows are in a part of so many: those with the lowest lots, wherever they are.

    Attributes:
        block: which block each of the first `MOST` is in, lowest lot first.
        row: its row there.
        n: how many rows there are in all blocks.
    """

    block: Ints
    row: Ints
    n: int

    @classmethod
    def of(cls, lots: Blocks[NDArray[np.uint64]], n: int) -> "Draw":
        """Look for the lowest lots in every block."""
        share = min(1.0, _ENOUGH * MOST / max(n, 1))
        found = list(lots.map(_below, args=(share,)))
        if sum(len(rows) for rows, _ in found) < min(n, MOST):  # not random at all: copies of few rows
            found = list(lots.map(_below, args=(1.0,)))
        block = np.repeat(np.arange(len(found)), [len(rows) for rows, _ in found])
        row = np.concatenate([rows for rows, _ in found])
        order = np.argsort(np.concatenate([own for _, own in found]), kind="stable")[:MOST]
        return cls(block[order], row[order], n)

    def part(self, n: int, n_blocks: int) -> list[Ints]:
        """For each block, the rows of it that are among the ``n`` lowest, ascending."""
        block, row = self.block[:n], self.row[:n]
        return [np.sort(row[block == number]) for number in range(n_blocks)]


@dataclass(frozen=True, eq=False)
class Tables:
    """Candidates in blocks, with the same sums as one block of all of them.

    Attributes:
        blocks: the candidates of each block.
        draw: which rows are in a part; None where nobody asks for one.
        n: number of rows.
        n_classes: K.
    """

    blocks: Blocks[Candidates]
    draw: Draw | None
    n: int
    n_classes: int

    def __len__(self) -> int:
        return self.n

    def total(self, function: Callable[..., T], args: Sequence[Any] = ()) -> T:
        """``function(block, *args)``, added up."""
        return self.blocks.total(function, args=args)

    def thinned(self, at_most: int) -> Candidates:
        """A part of the rows, the same ones in whatever order and blocks they come."""
        if self.n <= at_most:
            return self.blocks.first() if len(self.blocks) == 1 else Candidates.joined(list(self.blocks))
        assert self.draw is not None and at_most <= MOST
        rows = self.blocks.from_items(self.draw.part(at_most, len(self.blocks)))
        return Candidates.joined([part for part in self.blocks.map(Candidates.taken, rows) if len(part)])

    @property
    def spread(self) -> float:
        """Standard deviation of the discriminants."""
        return self.blocks.first().spread if len(self.blocks) == 1 else spread_of(*self.total(value_moments))


def _below(lots: NDArray[np.uint64], share: float) -> tuple[Ints, NDArray[np.uint64]]:
    rows = np.flatnonzero(lots <= np.uint64(share * (2**64 - 2**11))) if share < 1 else np.arange(len(lots))
    if len(rows) > MOST:
        rows = rows[lowest(lots[rows], MOST)]
    return rows, lots[rows]
