"""Rows of a data set that make it harder: few of them, classes of unequal size, or two classes that are alike."""

import numpy as np

from eigenclean.arrays import Array, Ints, encode_labels
from eigenclean_lab.bench.quality.data.loaded import large_classes
from eigenclean_lab.bench.quality.neighbours import nearest_votes

_NEIGHBOURS = 10
_MOST_COMPARED = 2_000  # rows among which classes are compared


def thinned(labels: Array, ratio: float, seed: int) -> Ints:
    """Rows that are left, in order, when class k of K keeps a share ratio^(-k/(K-1)) of the smallest class's size.

    >>> rows = thinned(np.repeat([0, 1, 2], 100), ratio=4, seed=0)
    >>> np.bincount(np.repeat([0, 1, 2], 100)[rows])
    array([100,  50,  25])
    """
    classes, codes = encode_labels(labels)
    rng = np.random.default_rng(seed)
    smallest = int(np.bincount(codes).min())
    sizes = np.round(smallest * ratio ** -np.linspace(0, 1, len(classes))).astype(int)
    picked = [
        rng.choice(np.flatnonzero(codes == k), max(1, size), replace=False) for k, size in enumerate(sizes.tolist())
    ]
    return np.sort(np.concatenate(picked))


def stratified(labels: Array, n_rows: int, seed: int) -> Ints:
    """So many rows, in order, with the shares of the classes kept; classes that become tiny are left out.

    >>> labels = np.repeat(["a", "b", "c"], [60, 30, 10])
    >>> labels[stratified(labels, 50, seed=0)].tolist().count("b"), len(stratified(labels, 50, seed=0))
    (15, 45)
    """
    if n_rows >= len(labels):
        return np.arange(len(labels))
    codes = encode_labels(labels)[1]
    order = np.random.default_rng(seed).permutation(len(labels))
    counts = np.bincount(codes)
    exact = counts * n_rows / len(labels)
    sizes = np.floor(exact).astype(int)
    sizes[np.argsort(sizes - exact, kind="stable")[: n_rows - sizes.sum()]] += 1  # largest remainders first
    by_class = order[np.argsort(codes[order], kind="stable")]
    rank = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.sort(by_class[rank < np.repeat(sizes, counts)])
    return np.asarray(rows[large_classes(labels[rows])])


def most_confused(features: Array, labels: Array) -> Ints:
    """The rows, in order, of the two classes that the nearest neighbours confuse most.

    >>> X = np.repeat([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], 20, axis=0)
    >>> rows = most_confused(X, np.repeat(["a", "b", "c"], 20))
    >>> int(rows[0]), int(rows[-1])
    (20, 59)
    """
    classes, codes = encode_labels(labels)
    n_rows = len(labels)
    rows = np.random.default_rng(0).choice(n_rows, min(n_rows, _MOST_COMPARED), replace=False)
    votes = nearest_votes(features[rows], codes[rows], len(classes), _NEIGHBOURS)
    confusion = np.zeros((len(classes), len(classes)))
    np.add.at(confusion, codes[rows], votes)
    sizes = np.maximum(np.bincount(codes[rows], minlength=len(classes)), 1)
    confusion /= sizes[:, None]  # large classes gain nothing
    both = confusion + confusion.T
    both[np.tril_indices(len(classes))] = -1.0  # each pair once
    first, second = np.unravel_index(int(both.argmax()), both.shape)
    return np.flatnonzero((codes == first) | (codes == second))
