"""How well a ranking puts right labels above wrong ones."""

import numpy as np

from eigenclean.arrays import Bools, Float64s, Ints


def dense_rank(first: Float64s, then: Float64s | None = None) -> Ints:
    """Places from 0 upwards by ``first``, ties settled by ``then``; equal pairs share a place.

    >>> dense_rank(np.array([1.0, 1.0, 0.0, 1.0]), np.array([0.3, 0.2, 0.9, 0.3]))
    array([2, 1, 0, 2])
    """
    keys = (first,) if then is None else (then, first)  # lexsort takes the main key last
    order = np.lexsort(keys)
    new_place = np.zeros(len(first), dtype=bool)
    for key in keys:
        sorted_key = key[order]
        new_place[1:] |= sorted_key[1:] != sorted_key[:-1]
    rank = np.empty(len(first), dtype=np.intp)
    rank[order] = np.cumsum(new_place)
    return rank


def auroc(rank: Ints, positive: Bools) -> float | None:
    """Chance that a positive row ranks above a negative one, a tie counting half; None without one of each.

    >>> auroc(np.array([0, 1, 1, 2]), np.array([False, False, True, True]))
    0.875
    """
    ups, downs = _per_place(rank, positive)
    n_up, n_down = int(ups.sum()), int(downs.sum())
    if n_up == 0 or n_down == 0:
        return None
    below = np.cumsum(downs) - downs
    return float((ups * (below + downs / 2)).sum() / n_up / n_down)


def average_precision(rank: Ints, positive: Bools) -> float | None:
    """Precision, averaged over the positive rows as they come up from the top; None without one.

    >>> round(average_precision(np.array([3, 2, 1, 0]), np.array([True, False, True, False])), 3)
    0.833
    """
    ups, downs = _per_place(rank, positive)
    ups, downs = ups[::-1], downs[::-1]
    if ups.sum() == 0:
        return None
    found = np.cumsum(ups)
    return float((ups * (found / (found + np.cumsum(downs)))).sum() / found[-1])


def _per_place(rank: Ints, positive: Bools) -> tuple[Ints, Ints]:
    n_places = int(rank.max()) + 1 if len(rank) else 0
    return np.bincount(rank[positive], minlength=n_places), np.bincount(rank[~positive], minlength=n_places)
