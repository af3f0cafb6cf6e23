"""Symmetric noise against its known rates."""

import numpy as np
import pytest

from eigenclean.noise import add_noise, corrupt


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.8, 0.9])
@pytest.mark.parametrize("n_classes", [10, 100])
@pytest.mark.parametrize("exact", [True, False])
def test_inclusive_noise_leaves_a_kth_of_the_draws_right(rate: float, n_classes: int, exact: bool) -> None:
    labels = np.arange(50_000) % n_classes
    expected = rate * (n_classes - 1) / n_classes  # for instance 45 % at 50 % of CIFAR-10
    five_sigma = 5 * np.sqrt(expected * (1 - expected) / len(labels))
    assert corrupt(labels, "symmetric", rate, exact=exact).true_rate == pytest.approx(expected, abs=five_sigma)


@pytest.mark.parametrize("rate", [0.2, 0.29, 0.5, 1.0])
def test_exclusive_noise_is_exact(rate: float) -> None:
    labels = np.arange(5000) % 10
    assert corrupt(labels, "symmetric", rate, inclusive=False).true_rate == pytest.approx(rate, abs=1e-12)


def test_independent_flips_scatter_around_the_rate() -> None:
    labels = np.arange(2000) % 10
    wrong = [
        np.count_nonzero(add_noise(labels, inclusive=False, exact=False, random_state=seed) != labels)
        for seed in range(60)
    ]
    assert np.mean(wrong) == pytest.approx(400, abs=5 * 17.9 / np.sqrt(60))
    assert 9 < np.std(wrong) < 30  # sqrt(2000 * 0.2 * 0.8) = 17.9


@pytest.mark.parametrize("inclusive", [True, False])
def test_all_wrong_classes_are_equally_likely(inclusive: bool) -> None:
    noisy = add_noise(np.full(60_000, 2), "symmetric", 1.0, classes=range(4), inclusive=inclusive)
    counts = np.bincount(noisy, minlength=4)
    expected = np.full(4, 15_000) if inclusive else np.array([20_000, 20_000, 0, 20_000])
    np.testing.assert_allclose(counts, expected, atol=5 * np.sqrt(60_000 / 4))
    assert inclusive or counts[2] == 0
