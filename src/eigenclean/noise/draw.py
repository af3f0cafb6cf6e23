"""Vectorised random choices of rows and of columns."""

import numpy as np

from eigenclean.arrays import Array, Bools, ClassRows, Float64s, Ints


def rows_overall(n_rows: int, rate: float, rng: np.random.Generator) -> Bools:
    """Exactly ``rate`` of all rows (rounded), chosen at random."""
    chosen = np.zeros(n_rows, dtype=bool)
    chosen[rng.permutation(n_rows)[: round(rate * n_rows)]] = True
    return chosen


def rows_per_class(codes: Ints, n_classes: int, rate: float, rng: np.random.Generator) -> Bools:
    """Exactly ``rate`` of each class (rounded), chosen at random."""
    quota = np.rint(rate * np.bincount(codes, minlength=n_classes))
    return np.asarray(shuffled_rank(codes, n_classes, rng) < quota[codes])


def rows_independent(n_rows: int, rate: float, rng: np.random.Generator) -> Bools:
    """Each row with probability ``rate``, independently of the others."""
    return rng.random(n_rows) < rate


def shuffled_rank(codes: Ints, n_classes: int, rng: np.random.Generator) -> Ints:
    """Rank of each row in a random order of its class, from 0.

    >>> rank = shuffled_rank(np.array([0, 1, 0, 0]), 2, np.random.default_rng(0))
    >>> sorted(rank[[0, 2, 3]].tolist()), int(rank[1])
    ([0, 1, 2], 0)
    """
    shuffle = rng.permutation(len(codes))
    rows = ClassRows.of(codes[shuffle], n_classes)
    rank = np.empty(len(codes), dtype=np.intp)
    rank[shuffle[rows.order]] = np.arange(len(codes)) - np.repeat(rows.starts[:-1], rows.counts)
    return rank


def pick_columns(weights: Array, quantiles: Float64s) -> Ints:
    """For each row of non-negative ``weights``, the column at the quantile (in [0, 1)) of its distribution.

    With uniform quantiles, columns are drawn in proportion to their weights: inverse transform sampling.

    >>> pick_columns(np.array([[1.0, 0.0, 3.0]] * 3), quantiles=np.array([0.0, 0.25, 0.999]))
    array([0, 2, 2])
    """
    cumulative = np.cumsum(weights, axis=1, dtype=np.float64)
    cumulative /= cumulative[:, -1:]  # the last positive column ends at exactly 1, above every quantile
    return np.asarray(np.argmax(cumulative > quantiles[:, None], axis=1), dtype=np.intp)
