"""Digits with half of their labels drawn anew."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenclean import add_noise
from eigenclean.arrays import Array, Bools

Noisy = tuple[Array, Array, Bools]


@pytest.fixture(scope="session")
def noisy() -> Noisy:
    """Features, given labels, which of them are right."""
    pixels, truth = map(np.asarray, load_digits(return_X_y=True))
    given = add_noise(truth, "symmetric", 0.5)
    return pixels, given, given == truth
