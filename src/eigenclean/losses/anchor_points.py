"""The transition matrix of label noise, estimated at anchor points (Patrini et al., 2017)."""

import numpy as np

from eigenclean.arrays import Array, Float64s
from eigenclean.errors import InvalidData, InvalidOption

_DEFAULT_DISCARD = 0.03
_MIN_RATIO = 3  # a class must have this many times the discarded samples, or none of its own would be left


def default_discard(n_classes: int) -> float:
    """Fraction of the most confident samples to discard: 0.03 for up to ten classes, otherwise 0.

    The original method discards 3 %. With 77 classes these are two whole classes: the row of a class would then be
    that of another.

    >>> default_discard(10), default_discard(77)
    (0.03, 0.0)
    """
    return _DEFAULT_DISCARD if _DEFAULT_DISCARD * n_classes * _MIN_RATIO < 1 else 0.0


def estimate_transition(probabilities: Array, discard: float | None = None) -> Float64s:
    """Transition matrix P(given label j | true class i): row i is the prediction at the anchor point of class i.

    The anchor point of a class is the sample that the network is most confident to be of that class.

    Args:
        probabilities: n x K, predicted by a network trained on the noisy labels.
        discard: for each class, this fraction of the most confident samples is discarded as possible outliers
            before the anchor point is chosen; 0 discards none. By default `default_discard`.

    >>> estimate_transition(np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]), discard=0)
    array([[0.9, 0.1], [0.2, 0.8]])
    """
    check_discard(discard)
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or len(p) == 0 or not np.isfinite(p).all():
        raise InvalidData(f"loss forward: probabilities must be n x K finite numbers, got shape {p.shape}")
    fraction = default_discard(p.shape[1]) if discard is None else discard
    rows = p[[_anchor_point(column, fraction) for column in p.T]]
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def check_discard(discard: float | None) -> None:
    """Raise `InvalidOption` unless ``discard`` is a fraction below 1, or None for the default."""
    if discard is not None and not 0 <= discard < 1:
        raise InvalidOption(f"loss forward: discard must be from 0 to below 1, got {discard}")


def _anchor_point(column: Float64s, discard: float) -> int:
    if discard > 0:
        limit = np.quantile(column, 1 - discard, method="higher")
        remaining = np.flatnonzero(column < limit)
        if len(remaining):  # otherwise all are equally confident
            return int(remaining[np.argmax(column[remaining])])
    return int(np.argmax(column))
