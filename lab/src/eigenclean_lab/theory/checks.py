"""Checks of the numbers that the bounds are asked for."""

import numpy as np
from numpy.typing import ArrayLike

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidOption


def number(value: ArrayLike, name: str, *, by: str, least: float, strictly: bool = False) -> Float64s:
    """A finite number, or an array of them, of at least (or ``strictly`` above) ``least``.

    >>> number(-1, "sigma", by="perturbation_bound", least=0)
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: perturbation_bound: sigma must be at least 0, got -1
    """
    array = np.asarray(value, dtype=np.float64)
    right = array > least if strictly else array >= least
    wrong = ~(right & np.isfinite(array))
    if wrong.any():
        allowed = f"{'above' if strictly else 'at least'} {least:g}" if least > -np.inf else "finite"
        raise InvalidOption(f"{by}: {name} must be {allowed}, got {array[wrong].flat[0]:g}")
    return array


def chance(delta: float, *, by: str) -> float:
    """The probability with which a bound may fail."""
    if not 0 < delta < 1:
        raise InvalidOption(f"{by}: delta must be between 0 and 1, got {delta}")
    return float(delta)
