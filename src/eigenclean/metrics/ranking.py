"""How well a ranking puts right labels above wrong ones."""

import numpy as np

from eigenclean.arrays import Bools, Float64s, Ints


def dense_rank(first: Float64s, then: Float64s | None = None) -> Ints:
    """Ranks from 0 upwards by ``first``, ties broken by ``then``; equal pairs share a rank.

    >>> dense_rank(np.array([1.0, 1.0, 0.0, 1.0]), np.array([0.3, 0.2, 0.9, 0.3]))
    array([2, 1, 0, 2])
    """
    keys = (first,) if then is None else (then, first)  # lexsort takes the main key last
    order = np.lexsort(keys)
    is_new_rank = np.zeros(len(first), dtype=bool)
    for key in keys:
        sorted_key = key[order]
        is_new_rank[1:] |= sorted_key[1:] != sorted_key[:-1]
    rank = np.empty(len(first), dtype=np.intp)
    rank[order] = np.cumsum(is_new_rank)
    return rank


def auroc(rank: Ints, positive: Bools) -> float | None:
    """Area under the ROC curve: P(a positive row ranks above a negative one), a tie counts half; None without both.

    >>> auroc(np.array([0, 1, 1, 2]), np.array([False, False, True, True]))
    0.875
    """
    positives, negatives = _counts_by_rank(rank, positive)
    n_positive, n_negative = int(positives.sum()), int(negatives.sum())
    if n_positive == 0 or n_negative == 0:
        return None
    below = np.cumsum(negatives) - negatives
    return float((positives * (below + negatives / 2)).sum() / n_positive / n_negative)


def average_precision(rank: Ints, positive: Bools) -> float | None:
    """Precision at the rank of each positive row, from the top, averaged over them; None without one.

    >>> round(average_precision(np.array([3, 2, 1, 0]), np.array([True, False, True, False])), 3)
    0.833
    """
    positives, negatives = (counts[::-1] for counts in _counts_by_rank(rank, positive))
    if positives.sum() == 0:
        return None
    retrieved = np.cumsum(positives)
    precision = retrieved / (retrieved + np.cumsum(negatives))
    return float((positives * precision).sum() / retrieved[-1])


def _counts_by_rank(rank: Ints, positive: Bools) -> tuple[Ints, Ints]:
    """How many positive and how many negative rows have each rank, lowest first."""
    n_ranks = int(rank.max()) + 1 if len(rank) else 0
    return np.bincount(rank[positive], minlength=n_ranks), np.bincount(rank[~positive], minlength=n_ranks)
