"""Folds by content: a row's fold depends on nothing but the row, so everyone finds it again."""

import numpy as np
from numpy.typing import NDArray

from eigenclean.arrays import Array, Ints, row_chunks


def content_folds(features: Array, n_folds: int) -> Ints:
    """The fold of each row, 0..n_folds-1, as good as random.

    A detector that judges a row by what the *other* folds taught it needs to know the fold of a row when it sees it
    again: in another order, in another batch, on another machine. Copies of a row share its fold, so none of them
    vouches for the others.

    >>> X = np.arange(12.0).reshape(6, 2)
    >>> bool((content_folds(X, 3)[::-1] == content_folds(X[::-1], 3)).all())
    True
    """
    return folds_by(content_hash(features), n_folds)


def folds_by(hashed: NDArray[np.uint64], n_folds: int) -> Ints:
    """The folds that belong to these hashes."""
    return ((hashed >> np.uint64(33)) % np.uint64(n_folds)).astype(np.intp)


def content_hash(features: Array, seed: int | None = 0) -> NDArray[np.uint64]:
    """A number for each row that depends on its values alone; equal rows have equal numbers. High bits are best."""
    n, d = features.shape
    multipliers = np.random.default_rng(seed).integers(1, 1 << 63, size=d, dtype=np.uint64) | np.uint64(1)
    hashed = np.empty(n, dtype=np.uint64)
    for part in row_chunks(n, 8 * d):
        # float32, so that the precision in which the data come does not matter; + 0 turns −0 into 0.
        with np.errstate(over="ignore"):
            bits = np.ascontiguousarray(features[part], dtype=np.float32) + np.float32(0)
        hashed[part] = np.vecdot(bits.view(np.uint32).astype(np.uint64), multipliers)
    return hashed
