"""Pair noise: the next class, and nothing else."""

import numpy as np
import pytest

from eigenclean.noise import add_noise, corrupt


def test_exactly_the_rate_of_each_class_becomes_the_next() -> None:
    labels = np.repeat([0, 1, 2], [100, 50, 10])
    noisy = add_noise(labels, "pair", 0.3)
    wrong = noisy != labels
    np.testing.assert_array_equal(noisy[wrong], (labels[wrong] + 1) % 3)
    np.testing.assert_array_equal(np.bincount(labels[wrong]), [30, 15, 3])


def test_independent_flips_come_close() -> None:
    rates = {corrupt(np.arange(10_000) % 5, "pair", 0.45, exact=False, random_state=s).true_rate for s in range(4)}
    assert len(rates) > 1
    assert np.mean(list(rates)) == pytest.approx(0.45, abs=0.02)
