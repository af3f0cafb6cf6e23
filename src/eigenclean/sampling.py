"""Random rows class by class: class-balanced subsets and stratified hold-outs."""

import numpy as np

from eigenclean.arrays import Array, Bools, ClassRows, Ints, encode_labels
from eigenclean.errors import InvalidOption
from eigenclean.seeds import tagged_generator


def balanced_subset(labels: Array, size: int, *, n_classes: int, seed: int, by: str = "balanced subset") -> Ints:
    """Rows in a random order: at most ``size`` in all, and of each class at most its equal share, rounded up.

    Labels may be wrong, so the subset is balanced in the given classes only. A class with too few rows leaves the
    subset short.

    Args:
        labels: the given label of each row.
        size: number of rows to draw.
        n_classes: number of classes that share the subset equally.
        seed: of the draw.
        by: who asks, for error messages.

    >>> labels = np.array([0, 0, 0, 0, 1])
    >>> sorted(labels[balanced_subset(labels, 4, n_classes=2, seed=0)].tolist())
    [0, 0, 1]
    """
    if type(size) is not int or size < 1:
        raise InvalidOption(f"{by}: subset must be a number of rows from 1, got {size!r}")
    if type(seed) is not int or seed < 0:
        raise InvalidOption(f"{by}: seed must be an integer from 0, got {seed!r}")
    rng = tagged_generator(seed, "balanced subset")
    order = rng.permutation(len(labels))
    shuffled = labels[order]
    by_class = np.argsort(shuffled, kind="stable")
    starts = np.searchsorted(shuffled[by_class], shuffled[by_class])
    rank_in_class = np.empty(len(labels), dtype=np.int64)  # rows of the same class that come before it in the order
    rank_in_class[by_class] = np.arange(len(labels)) - starts
    accepted = order[rank_in_class < size / n_classes][:size]
    return np.asarray(rng.permutation(accepted))


def held_out(labels: Array, fraction: float, random_state: int = 0) -> Bools:
    """A mask of held-out samples: that fraction of every class, drawn at random.

    Every class keeps at least one sample to train on. When labels are corrupted on purpose, split by the true
    labels first and corrupt both parts afterwards.

    >>> held_out(np.array([0, 0, 0, 0, 1, 1]), 0.5).sum()
    np.int64(3)
    """
    if not 0 <= fraction < 1:
        raise InvalidOption(f"split: fraction must be from 0 to below 1, got {fraction}")
    classes, codes = encode_labels(labels)
    rng = tagged_generator(random_state, "held out")
    groups, mask = ClassRows.of(codes, len(classes)), np.zeros(len(labels), dtype=bool)
    for k in range(len(classes)):
        rows = rng.permutation(groups[k])
        mask[rows[: min(round(fraction * len(rows)), len(rows) - 1)]] = True
    return mask
