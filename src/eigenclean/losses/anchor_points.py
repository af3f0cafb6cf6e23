"""The transition matrix of noisy labels, estimated from what a network trained on them predicts."""

import numpy as np

from eigenclean.arrays import Array, Float64s
from eigenclean.errors import InvalidData, InvalidOption

_OUTLIERS = 0.03
_OF_A_CLASS = 3  # classes must be this many times larger than what is passed over, or their own samples are gone


def usual_discard(n_classes: int) -> float:
    """What share of the surest samples to pass over: 0.03 for up to ten classes, else none, as in the original.

    With 77 classes, 3 % of all samples are two whole classes: the row of a class would then be that of another.

    >>> usual_discard(10), usual_discard(77)
    (0.03, 0.0)
    """
    return _OUTLIERS if _OUTLIERS * n_classes * _OF_A_CLASS < 1 else 0.0


def estimate_transition(probabilities: Array, discard: float | None = None) -> Float64s:
    """Row i: how samples of class i get labelled, as the network predicts it for its surest sample of class i.

    Args:
        probabilities: n x K.
        discard: for each class, this share of its surest samples is passed over, since the very surest may be
            outliers; 0 takes the very surest. By default `usual_discard`.

    >>> estimate_transition(np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]), discard=0)
    array([[0.9, 0.1], [0.2, 0.8]])
    """
    check_discard(discard)
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or len(p) == 0 or not np.isfinite(p).all():
        raise InvalidData(f"loss forward: probabilities must be n x K finite numbers, got shape {p.shape}")
    share = usual_discard(p.shape[1]) if discard is None else discard
    surest = [_surest(column, share) for column in p.T]
    rows = p[surest]
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def check_discard(discard: float | None) -> None:
    """A share, or None for the usual one."""
    if discard is not None and not 0 <= discard < 1:
        raise InvalidOption(f"loss forward: discard must be from 0 to below 1, got {discard}")


def _surest(column: Float64s, discard: float) -> int:
    if discard > 0:
        limit = np.quantile(column, 1 - discard, method="higher")
        left = np.flatnonzero(column < limit)
        if len(left):  # else all are equally sure
            return int(left[np.argmax(column[left])])
    return int(np.argmax(column))
