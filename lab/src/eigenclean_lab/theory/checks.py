"""Checks of the arguments of the bounds."""

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidOption


def number(value: ArrayLike, name: str, *, by: str, least: float, strictly: bool = False) -> Float64s:
    """The value as an array, checked to be finite and at least (or ``strictly`` above) ``least``.

    >>> number(-1, "sigma", by="perturbation_bound", least=0)
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: perturbation_bound: sigma must be at least 0, got -1
    """
    array = np.asarray(value, dtype=np.float64)
    is_valid = (array > least if strictly else array >= least) & np.isfinite(array)
    if not is_valid.all():
        allowed = f"{'above' if strictly else 'at least'} {least:g}" if least > -np.inf else "finite"
        raise InvalidOption(f"{by}: {name} must be {allowed}, got {array[~is_valid].flat[0]:g}")
    return array


def chance(delta: float, *, by: str) -> float:
    """``delta``, checked to be a probability with which a bound may fail."""
    if not 0 < delta < 1:
        raise InvalidOption(f"{by}: delta must be between 0 and 1, got {delta}")
    return float(delta)
