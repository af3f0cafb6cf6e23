"""Features as directions: what linear discriminants look at, and the sums over it that add up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from eigenclean.arrays import Array, Float64s, Floats, Ints, row_chunks, working_dtype
from eigenclean.detect.blocks import Blocks

MAX_COLUMNS = 2048  # with more, columns are folded together: second moments grow with their square
_CACHED = 1 << 19  # bytes of rows that stay in the cache from one step to the next
KEPT_BYTES = 1 << 29  # prepared rows are kept up to half a gigabyte, and made anew at every reading beyond it


@dataclass(frozen=True)
class RowForm:
    """How a row becomes a direction, learned once from all rows.

    Attributes:
        rooted: take square roots first. Features that are never negative (after a ReLU, counts, pixels) have a few
            large values that say little; with roots, lengths and distances are those of Hellinger.
        centre: mean direction.
    """

    rooted: bool
    centre: Float64s

    @classmethod
    def of(cls, features: Array) -> "RowForm":
        """Learn it from these rows."""
        rooted = never_negative(features)
        return cls(rooted, direction_sum(features, rooted) / len(features))

    @classmethod
    def of_blocks(cls, features: Blocks[Array], looks: "Sequence[Look]") -> "RowForm":
        """Learn it from a `look` at each block."""
        rooted = all(look.rooted for look in looks)
        if rooted or not any(look.rooted for look in looks):
            total = sum((look.directions for look in looks[1:]), looks[0].directions)
        else:  # some blocks have negative values and others have none
            total = features.total(direction_sum, args=(False,))
        return cls(rooted, np.asarray(total / sum(look.n for look in looks)))

    def apply(self, features: Array, chosen: Ints | None = None) -> Floats:
        """Rows (all, or the chosen ones) of length 1, less the centre; a zero row has no direction and stays."""
        n = len(features) if chosen is None else len(chosen)
        dtype = working_dtype(features.dtype)
        out, centre = np.empty((n, len(self.centre)), dtype), self.centre.astype(dtype)
        for part in row_chunks(n, features.shape[1] * dtype.itemsize, _CACHED):
            rows = features[part if chosen is None else chosen[part]].astype(dtype, copy=False)
            if self.rooted:
                rows = np.copysign(np.sqrt(np.abs(rows)), rows)
            if rows.shape[1] > MAX_COLUMNS:
                rows = folded_together(rows)
            length = np.sqrt(np.vecdot(rows, rows))
            length[length == 0] = 1.0
            np.divide(rows, length[:, None], out=out[part])
            out[part] -= centre
        return out


class Look(NamedTuple):
    """What is to be known about some rows before they become directions.

    Attributes:
        n: how many there are.
        width: columns.
        itemsize: bytes of a number at work.
        rooted: whether none of the values is negative.
        directions: sum of the rows at unit length, after square roots if rooted.
    """

    n: int
    width: int
    itemsize: int
    rooted: bool
    directions: Float64s

    @classmethod
    def at(cls, features: Array) -> "Look":
        """Look at these rows."""
        rooted = never_negative(features)
        itemsize = working_dtype(features.dtype).itemsize
        n, width = features.shape
        return cls(n, width, itemsize, rooted, direction_sum(features, rooted))


def never_negative(features: Array) -> bool:
    """Whether no value is below zero."""
    return all(np.min(features[part], initial=0) >= 0 for part in row_chunks(len(features), 4 * features.shape[1]))


def direction_sum(features: Array, rooted: bool) -> Float64s:
    """Sum of the rows at unit length, before they are centred."""
    width = features.shape[1]
    uncentred = RowForm(rooted, np.zeros(min(width, MAX_COLUMNS)))
    total = np.zeros(min(width, MAX_COLUMNS))
    for part in row_chunks(len(features), 4 * width):
        total += uncentred.apply(features[part]).sum(axis=0, dtype=np.float64)
    return total


def folded_together(rows: Floats) -> Floats:
    """`MAX_COLUMNS` columns in place of more: random groups of columns, added up with random signs.

    Inner products stay what they were on average; which columns go together depends on their number alone.
    """
    d = rows.shape[1]
    rng = np.random.default_rng(d)
    starts = np.arange(MAX_COLUMNS) * d // MAX_COLUMNS
    signs = rng.choice(np.array([-1, 1], dtype=rows.dtype), size=d)
    mixed = rows[:, rng.permutation(d)] * signs
    return np.asarray(np.add.reduceat(mixed, starts, axis=1))


@dataclass(frozen=True)
class UnitRows:
    """The directions of all rows, fold by fold."""

    features: Array
    folds: Ints
    form: RowForm

    @classmethod
    def of(cls, features: Array, folds: Ints, form: RowForm | None = None) -> "UnitRows":
        """Learn the form from the features themselves unless it is given."""
        return cls(features, folds, RowForm.of(features) if form is None else form)

    def __len__(self) -> int:
        return len(self.folds)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the directions."""
        return working_dtype(self.features.dtype)

    def blocks(self) -> Iterator[tuple[int, Ints, Floats]]:
        """Fold, row numbers and directions, in blocks of rows of one fold."""
        for number, (fold, rows) in enumerate(self._parts):
            yield fold, rows, self._kept[number] if self._fits else self.form.apply(self.features, rows)

    def only(self, folds: list[int]) -> "UnitRows":
        """The rows of these folds."""
        rows = np.flatnonzero(np.isin(self.folds, folds))
        return UnitRows(self.features[rows], self.folds[rows], self.form)

    @cached_property
    def _parts(self) -> list[tuple[int, Ints]]:
        of_fold = [(int(fold), np.flatnonzero(self.folds == fold)) for fold in np.unique(self.folds)]
        width = 4 * len(self.form.centre)
        return [(fold, rows[part]) for fold, rows in of_fold for part in row_chunks(len(rows), width)]

    @property
    def _fits(self) -> bool:
        return self.dtype.itemsize * len(self.features) * len(self.form.centre) <= KEPT_BYTES

    @cached_property
    def _kept(self) -> list[Floats]:
        return [self.form.apply(self.features, rows) for _, rows in self._parts]

    def second_moments(self, weight: Float64s | None, n_folds: int) -> Float64s:
        """Σ w z zᵀ of each fold, products in the precision of the features and sums in float64."""
        d = len(self.form.centre)
        totals = np.zeros((n_folds, d, d))
        self.add_second_moments(totals, weight)
        return totals

    def add_second_moments(self, totals: Float64s, weight: Float64s | None) -> None:
        """Add them to ``totals``, in place."""
        for fold, rows, block in self.blocks():
            if weight is not None:
                block = block * np.sqrt(weight[rows]).astype(block.dtype)[:, None]
            totals[fold] += block.T @ block

    def class_sums(self, members: Any, n_folds: int) -> tuple[Float64s, Float64s]:
        """Σ r z (folds x K x d) and Σ r (folds x K) for soft memberships r: n x K, an array or sparse."""
        k, d = members.shape[1], len(self.form.centre)
        sums, counts = np.zeros((n_folds, k, d)), np.zeros((n_folds, k))
        self.add_class_sums(sums, counts, members)
        return sums, counts

    def add_class_sums(self, sums: Float64s, counts: Float64s, members: Any) -> None:
        """Add them to ``sums`` and ``counts``, in place."""
        for fold, rows, block in self.blocks():
            own = members[rows]
            sums[fold] += own.T.astype(block.dtype) @ block
            counts[fold] += own.sum(axis=0, dtype=np.float64)
