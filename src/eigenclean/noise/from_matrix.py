"""Transition noise: class-conditional noise by a transition matrix."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Array, Float64s, Ints, row_chunks
from eigenclean.errors import InvalidOption
from eigenclean.noise.base import Noise
from eigenclean.noise.draw import pick_columns, shuffled_rank


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
        shown = self.matrix if len(rows) <= 4 else f"<{len(rows)} x {len(rows)}>"
        return f"Transition(matrix={shown}, exact={self.exact})"

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
        for part in row_chunks(len(codes), 8 * len(classes)):
            noisy[part] = pick_columns(matrix[codes[part]], quantiles[part])
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
