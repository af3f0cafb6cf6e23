"""Folds by content: the fold of a row depends on its values alone, so it is the same in every batch and engine."""

import numpy as np
from numpy.typing import NDArray

from eigenclean.arrays import Array, Ints, row_chunks

_CHUNK_BYTES = 1 << 20  # of the bits of some rows: they stay in the processor's cache
_ODD = 0x9E3779B97F4A7C15  # the golden ratio times 2**64, as usual for hashing small numbers


def content_folds(features: Array, n_folds: int, repeat: int = 0) -> Ints:
    """Return the fold of each row, 0..n_folds-1, as a hash of its values.

    Cross-fitting scores a row by a model of the *other* folds, so the fold must be the same when the row comes in
    another order, in another batch or on another machine. Duplicates share a fold: no copy of a row is in the model
    that scores it.

    >>> X = np.arange(12.0).reshape(6, 2)
    >>> bool((content_folds(X, 3)[::-1] == content_folds(X[::-1], 3)).all())
    True
    """
    return folds_of_hashes(content_hash(features), n_folds, repeat)


def folds_of_hashes(hashes: NDArray[np.uint64], n_folds: int, repeat: int = 0) -> Ints:
    """Return the fold of each hash, from its high bits, the best mixed ones; another one in each ``repeat``."""
    if repeat:
        hashes = mixed(hashes ^ np.uint64(repeat * _ODD % (1 << 64)))
    return ((hashes >> np.uint64(33)) % np.uint64(n_folds)).astype(np.intp)


def mixed(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers whose bits all depend on all bits of the hashes (the finaliser of SplitMix64)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def canonical_order(hashes: NDArray[np.uint64], codes: Ints) -> Ints:
    """The order of rows by content hash and class, in which a result does not depend on the order of the input."""
    return np.lexsort((codes, hashes))


def content_hash(features: Array, seed: int | None = 0) -> NDArray[np.uint64]:
    """Return a multiplicative hash of each row's values in float32; equal rows have equal hashes."""
    n, d = features.shape
    multipliers = np.random.default_rng(seed).integers(1, 1 << 63, size=d, dtype=np.uint64) | np.uint64(1)
    hashes = np.empty(n, dtype=np.uint64)
    for rows in row_chunks(n, 8 * d, _CHUNK_BYTES):
        # float32, so that the precision in which the data come does not matter; + 0 turns −0 into 0.
        with np.errstate(over="ignore"):
            bits = np.ascontiguousarray(features[rows], dtype=np.float32) + np.float32(0)
        hashes[rows] = np.vecdot(bits.view(np.uint32).astype(np.uint64), multipliers)
    return hashes
