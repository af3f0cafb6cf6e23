"""Class-conditional noise: symmetric, pair, and any transition matrix."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Float64s, Ints, row_chunks
from eigenclean.errors import InvalidOption
from eigenclean.noise.base import (
    Noise,
    RatedNoise,
    pick_columns,
    rows_independent,
    rows_overall,
    rows_per_class,
    shuffled_rank,
)


@dataclass(frozen=True)
class Symmetric(RatedNoise):
    """A share of the labels is redrawn uniformly.

    Attributes:
        rate: share p of labels that are redrawn.
        inclusive: draw from all K classes, so that p(K-1)/K of the labels end up wrong (as ELR, FINE and
            DivideMix do); else from the K-1 others, so that p do (as Co-teaching and CORES² do).
        exact: redraw exactly p·n labels; else each with probability p.

    >>> codes = np.zeros(1000, dtype=np.intp)
    >>> noisy = Symmetric(0.4, inclusive=False).apply(codes, np.arange(10), np.random.default_rng(0))
    >>> int(np.count_nonzero(noisy))
    400
    """

    inclusive: bool = True
    exact: bool = True

    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows."""
        choose = rows_overall if self.exact else rows_independent
        rows = np.flatnonzero(choose(len(codes), self.rate, rng))
        noisy = codes.copy()
        if self.inclusive:
            noisy[rows] = rng.integers(len(classes), size=len(rows))
        else:
            noisy[rows] = (codes[rows] + rng.integers(1, len(classes), size=len(rows))) % len(classes)
        return noisy


@dataclass(frozen=True)
class Pair(RatedNoise):
    """A share of each class is given the label of the next class; the last class that of the first.

    Attributes:
        rate: share p of labels that end up wrong.
        exact: exactly p of each class; else each label with probability p.

    >>> Pair(1.0).apply(np.array([0, 1, 2]), np.array(["a", "b", "c"]), np.random.default_rng(0))
    array([1, 2, 0])
    """

    exact: bool = True

    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows."""
        if self.exact:
            chosen = rows_per_class(codes, len(classes), self.rate, rng)
        else:
            chosen = rows_independent(len(codes), self.rate, rng)
        return (codes + chosen) % len(classes)


@dataclass(frozen=True, repr=False)
class Transition(Noise):
    """Class-conditional noise: row k of the matrix is the distribution of the given labels of class k.

    Attributes:
        matrix: K x K, not negative, each row with sum 1; rows and columns in the order of the classes.
        exact: give each class its shares exactly (to within one label); else draw each label independently.

    >>> noise = Transition([[0.75, 0.25], [0.0, 1.0]], exact=True)
    >>> noise.apply(np.array([0] * 4 + [1] * 4), np.arange(2), np.random.default_rng(0))
    array([0, 1, 0, 0, 1, 1, 1, 1])
    """

    matrix: ArrayLike
    exact: bool = False

    def __post_init__(self) -> None:
        matrix = _check_matrix(self.matrix)
        object.__setattr__(self, "matrix", tuple(map(tuple, matrix.tolist())))  # hashable, as a value should be

    def __repr__(self) -> str:
        rows = np.asarray(self.matrix)
        # The matrix of a hundred classes has ten thousand numbers.
        matrix = self.matrix if len(rows) <= 4 else f"<{len(rows)} x {len(rows)}>"
        return f"Transition(matrix={matrix}, exact={self.exact})"

    def apply(self, codes: Ints, classes: Array, rng: np.random.Generator, features: Array | None = None) -> Ints:
        """New codes for all rows."""
        matrix = np.asarray(self.matrix, dtype=np.float64)
        if len(matrix) != len(classes):
            raise InvalidOption(
                f"transition noise: matrix must be {len(classes)} x {len(classes)}, one row per class, "
                f"got {len(matrix)} x {len(matrix)}"
            )
        if self.exact:
            # Evenly spaced quantiles, randomly permuted within the class, give every share exactly.
            sizes = np.bincount(codes, minlength=len(classes))
            quantiles = (shuffled_rank(codes, len(classes), rng) + 0.5) / sizes[codes]
        else:
            quantiles = rng.random(len(codes))
        noisy = np.empty_like(codes)
        for chunk in row_chunks(len(codes), 8 * len(classes)):
            noisy[chunk] = pick_columns(matrix[codes[chunk]], quantiles[chunk])
        return noisy


def _check_matrix(values: ArrayLike) -> Float64s:
    try:
        matrix = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidOption(
            "transition noise: matrix must be a square table of numbers, got something else"
        ) from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise InvalidOption(f"transition noise: matrix must be square, at least 2 x 2, got shape {matrix.shape}")
    if not (matrix >= 0).all():  # also catches NaN
        row = int(np.argmin((matrix >= 0).all(axis=1)))
        raise InvalidOption(f"transition noise: matrix must not be negative or NaN, but row {row} is")
    off = np.abs(matrix.sum(axis=1) - 1)
    if not (off <= 1e-6).all():
        row = int(np.argmin(off <= 1e-6))
        raise InvalidOption(
            f"transition noise: each row of matrix must have sum 1, row {row} has {matrix[row].sum():.6g}; "
            "divide the rows by their sums"
        )
    return matrix
