"""The transition matrix: sums of pairs, estimates from counts, and what describes the noise."""

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.detect.judge.transition_matrix import PairCounts, TransitionMatrix, all_pair_keys


def from_matrix(matrix: Array, n: float = 1e6) -> TransitionMatrix:
    """Estimated from exact counts of ``n`` samples of each class."""
    return TransitionMatrix.from_counts(PairCounts(all_pair_keys(len(matrix)), n * matrix.ravel()), len(matrix))


def test_counts_over_different_pairs_add_up_like_dense_matrices() -> None:
    rng = np.random.default_rng(0)
    total, dense = PairCounts.empty(), np.zeros(16)
    for _ in range(3):
        keys = np.sort(rng.choice(16, 5, replace=False))
        counts = rng.random(5)
        total = total + PairCounts(keys, counts)
        dense[keys] += counts
    assert (np.diff(total.keys) > 0).all()
    np.testing.assert_allclose(total.counts, dense[total.keys])
    assert dense.sum() == pytest.approx(total.counts.sum())


def test_adding_in_place_needs_the_very_same_keys() -> None:
    keys = all_pair_keys(2)
    one = PairCounts(keys, np.ones(4))
    counts = one.counts
    one += PairCounts(keys, np.ones(4))
    assert one.counts is counts and (counts == 2).all()
    one += PairCounts(np.array([0]), np.array([3.0]))
    np.testing.assert_array_equal(one.counts, [5, 2, 2, 2])
    np.testing.assert_array_equal(counts, 2)


def test_many_counts_outweigh_the_prior() -> None:
    matrix = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]])
    transition = from_matrix(matrix)
    np.testing.assert_allclose(transition.to_dense(), matrix, atol=1e-4)
    assert transition.noise_rate == pytest.approx((0.3 + 0.0 + 0.6) / 3)


def test_without_counts_the_prior_remains() -> None:
    np.testing.assert_allclose(TransitionMatrix.symmetric(4, 0.2).to_dense(), 0.8 * np.eye(4) + 0.05)
    few = TransitionMatrix.from_counts(PairCounts(np.array([0, 5]), np.array([8.0, 2.0])), 3)  # (0, 0) and (1, 2)
    rate = 0.2 * 3 / 2
    np.testing.assert_allclose(few.to_dense()[2], (1 - rate) * np.eye(3)[2] + rate / 3)
    np.testing.assert_allclose(few.to_dense()[0, 0], (8 + 3 * (1 - rate + rate / 3)) / (8 + 3))


def test_rows_sum_to_one_and_single_entries_are_those_of_the_matrix() -> None:
    sparse = TransitionMatrix.from_counts(PairCounts(np.array([0, 3, 7, 10, 15]), np.arange(1.0, 6.0)), 4)
    np.testing.assert_allclose(sparse.to_dense().sum(axis=1), 1)
    keys = np.array([0, 5, 7, 11])
    np.testing.assert_allclose(sparse.at(keys), sparse.to_dense().ravel()[keys])


def test_a_copy_can_be_changed() -> None:
    transition = from_matrix(np.eye(2))
    transition.to_dense()[:] = 0
    np.testing.assert_allclose(transition.to_dense(), np.eye(2), atol=1e-4)


def test_asymmetry_is_what_goes_beyond_symmetric_noise() -> None:
    assert from_matrix(0.8 * np.eye(5) + 0.04).asymmetry == 0
    favoured = from_matrix(0.8 * np.eye(5) + 0.2 * np.roll(np.eye(5), 1, axis=1))
    assert favoured.asymmetry == pytest.approx(0.2 * 3 / 4, abs=0.01)  # a quarter would go there by symmetric noise
    assert favoured.noise_rate == pytest.approx(0.2)


def test_asymmetry_by_chance_does_not_count() -> None:
    rng = np.random.default_rng(0)
    counts = 1000 * 0.8 * np.eye(10) + rng.poisson(20, size=(10, 10))
    assert TransitionMatrix.from_counts(PairCounts(all_pair_keys(10), counts.ravel()), 10).asymmetry < 0.005


def test_breadth_is_small_for_a_rule_and_one_for_symmetric_noise() -> None:
    assert from_matrix(0.8 * np.eye(5) + 0.04).breadth == pytest.approx(1)
    assert from_matrix(0.8 * np.eye(5) + 0.2 * np.roll(np.eye(5), 1, axis=1)).breadth == 0
    unobserved = TransitionMatrix.from_counts(
        PairCounts(np.array([0, 1, 4, 8]), np.array([9.0, 1.0, 10.0, 10.0])), 3
    )
    assert unobserved.breadth == 0
