"""Votes of the nearest other rows: for a baseline, errors at class boundaries, and classes that are alike."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from eigenclean.arrays import Array, Float64s, Ints


def nearest_votes(X: Array, codes: Ints, n_classes: int, k: int) -> Float64s:
    """n x K: the share of each class among the k nearest others; a row does not vote for itself.

    >>> nearest_votes(np.array([[0.0], [1.0], [1.1], [5.0]]), np.array([0, 0, 1, 1]), 2, k=1)
    array([[1., 0.],
           [0., 1.],
           [1., 0.],
           [0., 1.]])
    """
    k = min(k, len(X) - 1)
    near = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(return_distance=False)  # others only
    votes = np.zeros((len(X), n_classes))
    np.add.at(votes, (np.arange(len(X))[:, None], codes[near]), 1.0 / k)
    return np.minimum(votes, 1.0)
