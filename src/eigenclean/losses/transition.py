"""The transition matrix of noisy labels, estimated from what a network trained on them predicts."""

import numpy as np

from eigenclean.arrays import Array, Float64s
from eigenclean.errors import InvalidData, InvalidOption


def estimate_transition(probabilities: Array, discard: float = 0.03) -> Float64s:
    """Row i: how samples of class i get labelled, as the network predicts it for its surest sample of class i.

    Args:
        probabilities: n x K.
        discard: for each class, this share of its surest samples is passed over, since the very surest may be
            outliers; 0 takes the very surest. Patrini et al. use 0.03 for 10 classes and 0 for 100.

    >>> estimate_transition(np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]), discard=0)
    array([[0.9, 0.1], [0.2, 0.8]])
    """
    if not 0 <= discard < 1:
        raise InvalidOption(f"loss forward: discard must be from 0 to below 1, got {discard}")
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or len(p) == 0 or not np.isfinite(p).all():
        raise InvalidData(f"loss forward: probabilities must be n x K finite numbers, got shape {p.shape}")
    surest = [_surest(column, discard) for column in p.T]
    rows = p[surest]
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _surest(column: Float64s, discard: float) -> int:
    if discard > 0:
        limit = np.quantile(column, 1 - discard, method="higher")
        left = np.flatnonzero(column < limit)
        if len(left):  # else all are equally sure
            return int(left[np.argmax(column[left])])
    return int(np.argmax(column))
