"""The transition matrix: sums of pairs, estimates from counts, and the strength of the prior."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import gammaln

from eigenclean.arrays import Array
from eigenclean.detect.judge.transition_matrix import (
    STRENGTHS,
    PairCounts,
    Strengths,
    TransitionMatrix,
    all_pairs,
)


def from_matrix(matrix: Array, n: float = 1e6) -> TransitionMatrix:
    """Estimated from exact counts of ``n`` samples of each class."""
    return TransitionMatrix.from_counts(PairCounts(all_pairs(len(matrix)).keys, n * matrix.ravel()), len(matrix))


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
    keys = all_pairs(2).keys
    total = PairCounts(keys, np.ones(4))
    counts = total.counts
    total += PairCounts(keys, np.ones(4))
    assert total.counts is counts and (counts == 2).all()
    total += PairCounts(np.array([0]), np.array([3.0]))
    np.testing.assert_array_equal(total.counts, [5, 2, 2, 2])
    np.testing.assert_array_equal(counts, 2)


def test_many_counts_outweigh_the_prior() -> None:
    matrix = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.3, 0.3, 0.4]])
    transition = from_matrix(matrix)
    np.testing.assert_allclose(transition.to_dense(), matrix, atol=1e-4)
    assert transition.noise_rate == pytest.approx((0.3 + 0.0 + 0.6) / 3)


@pytest.mark.parametrize("n_pairs", [2500, 400])
def test_entries_of_its_own_pairs_need_no_search(n_pairs: int) -> None:
    rng = np.random.default_rng(0)
    keys = all_pairs(50).keys if n_pairs == 2500 else np.sort(rng.choice(2500, n_pairs, replace=False))
    matrix = TransitionMatrix.from_counts(PairCounts(keys, rng.random(n_pairs) ** 9), 50)
    np.testing.assert_allclose(matrix.at(keys), matrix.at(keys.copy()), rtol=1e-12)
    np.testing.assert_allclose(matrix.dense.ravel()[keys], matrix.at(keys), rtol=1e-12)


def test_another_process_gets_equal_entries() -> None:
    layout, counts = all_pairs(4), np.random.default_rng(0).random(16)
    matrix = TransitionMatrix.from_counts(PairCounts(layout.keys, counts, layout), 4)
    sent = copy(matrix.pairs)  # by the state that is pickled
    assert sent is not None and sent.keys is layout.keys
    np.testing.assert_array_equal(replace(matrix, pairs=sent).dense, matrix.dense)
    some = copy(PairCounts(np.arange(3), counts[:3]))
    np.testing.assert_array_equal(some.keys, [0, 1, 2])


def test_many_tiny_errors_are_summed_without_a_logarithm_of_each() -> None:
    rng = np.random.default_rng(0)
    counts = 1e-3 * rng.random((300, 300)) + 50.0 * np.eye(300)
    matrix = TransitionMatrix.from_counts(PairCounts(all_pairs(300).keys, counts.ravel()), 300)
    errors, start = matrix.errors, 0.3 / 299
    assert len(errors) % 32
    assert matrix._log_rising(start) == pytest.approx(-float(np.log1p(errors / start).sum()), rel=1e-12)


def test_without_counts_the_prior_remains() -> None:
    np.testing.assert_allclose(TransitionMatrix.symmetric(4, 0.2).to_dense(), 0.8 * np.eye(4) + 0.05)
    pairs = PairCounts(np.array([0, 5]), np.array([8.0, 2.0]))  # (0, 0) and (1, 2)
    few = TransitionMatrix.from_counts(pairs, 3)
    assert few.rate == few.noise_rate == pytest.approx(0.2)
    np.testing.assert_allclose(few.to_dense()[2], [0.1, 0.1, 0.8])  # no samples of this class


def test_estimates_are_counts_with_pseudo_counts() -> None:
    """Posterior means of a Beta and a Dirichlet distribution, written out for one class."""
    counts = np.array([[80.0, 15.0, 5.0], [1.0, 90.0, 9.0], [0.0, 0.0, 100.0]])
    strengths = Strengths(rates=6.0, targets=4.0)
    matrix = TransitionMatrix.from_counts(PairCounts(all_pairs(3).keys, counts.ravel()), 3, strengths)
    assert matrix.rate == pytest.approx(0.1)
    rate = (20 + 6) / (100 + 6 / 0.1)
    expected = [1 - rate, rate * (15 + 2) / (20 + 4), rate * (5 + 2) / (20 + 4)]
    np.testing.assert_allclose(matrix.to_dense()[0], expected)


def test_rows_sum_to_one_and_single_entries_are_those_of_the_matrix() -> None:
    sparse = TransitionMatrix.from_counts(PairCounts(np.array([0, 3, 7, 10, 15]), np.arange(1.0, 6.0)), 4)
    np.testing.assert_allclose(sparse.to_dense().sum(axis=1), 1)
    keys = np.array([0, 5, 7, 11])
    np.testing.assert_allclose(sparse.at(keys), sparse.to_dense().ravel()[keys])


def test_a_copy_can_be_changed() -> None:
    transition = from_matrix(np.eye(2))
    transition.to_dense()[:] = 0
    np.testing.assert_allclose(transition.to_dense(), np.eye(2), atol=1e-4)


class TestEmpiricalBayes:
    """How strong the prior is follows from the counts: structure where they have it, none where they have not."""

    def test_equal_counts_choose_the_strongest_prior(self) -> None:
        for k, n in ((2, 500), (5, 500), (10, 100)):
            matrix = from_matrix(0.8 * np.eye(k) + 0.2 / k, n)
            expected = Strengths(STRENGTHS[-1], STRENGTHS[-1])
            assert matrix.best_strengths() == matrix.strengths == expected

    def test_structure_by_chance_does_not_count(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(3):
            counts = np.stack([rng.multinomial(2000, row) for row in 0.8 * np.eye(8) + 0.2 / 8])
            matrix = TransitionMatrix.from_counts(PairCounts(all_pairs(8).keys, counts.ravel().astype(float)), 8)
            assert min(matrix.strengths) >= 80
            np.testing.assert_allclose(matrix.to_dense(), 0.8 * np.eye(8) + 0.2 / 8, atol=0.015)

    def test_errors_that_go_one_way_choose_a_weak_prior_for_where_they_go(self) -> None:
        one_way = 0.8 * np.eye(5) + 0.2 * np.roll(np.eye(5), 1, axis=1)
        matrix = from_matrix(one_way, 1000)
        assert matrix.strengths == Strengths(STRENGTHS[-1], STRENGTHS[0])  # all classes have the same rate
        np.testing.assert_allclose(matrix.to_dense(), one_way, atol=0.005)

    def test_errors_of_one_class_choose_a_weak_prior_for_the_rates(self) -> None:
        for k in (2, 6):
            single = np.eye(k)
            single[0, :2] = 0.6, 0.4
            matrix = from_matrix(single, 2000)
            assert matrix.strengths.rates == STRENGTHS[0]
            np.testing.assert_allclose(matrix.to_dense()[0, :2], [0.6, 0.4], atol=0.03)
            assert matrix.to_dense()[1, 1] > 0.99

    def test_no_errors_at_all(self) -> None:
        matrix = from_matrix(np.eye(4), 100)
        assert matrix.noise_rate == 0 and matrix.occam_factor <= 0
        dense = matrix.to_dense()
        assert (dense > 0).all() and dense.diagonal().min() > 0.999


class TestOccamFactor:
    @staticmethod
    def by_loops(matrix: TransitionMatrix, counts: Array) -> float:
        """Beta-binomial and Dirichlet-multinomial probabilities of all labels, minus the log-likelihood under T."""
        k, rates, targets = len(counts), *matrix.strengths
        total = 0.0
        for right in range(k):
            errors = [float(counts[right, given]) for given in range(k) if given != right]
            wrong, right_labels = sum(errors), float(counts[right, right])
            a, b = rates, rates / matrix.rate - rates
            total += gammaln(a + b) - gammaln(a) - gammaln(b)
            total += gammaln(a + wrong) + gammaln(b + right_labels) - gammaln(a + b + wrong + right_labels)
            uniform = targets / (k - 1)
            total += gammaln(targets) - gammaln(targets + wrong)
            total += sum(gammaln(uniform + count) - gammaln(uniform) for count in errors)
        return float(total - (counts * np.log(matrix.to_dense())).sum())

    @pytest.mark.parametrize("strengths", [None, Strengths(3.0, 3.0), Strengths(160.0, 6.0), Strengths()])
    @pytest.mark.parametrize("k", [2, 3, 6])
    def test_is_the_marginal_likelihood_over_the_likelihood(self, k: int, strengths: Strengths | None) -> None:
        rng = np.random.default_rng(k)
        counts = 40 * rng.random((k, k)) ** 3 + 100 * np.eye(k)
        matrix = TransitionMatrix.from_counts(PairCounts(all_pairs(k).keys, counts.ravel()), k, strengths)
        assert matrix.occam_factor <= 0
        assert matrix.occam_factor == pytest.approx(self.by_loops(matrix, counts), rel=1e-6, abs=1e-5)

    def test_pairs_that_were_not_observed_are_counts_of_zero(self) -> None:
        counts = np.diag([50.0, 60.0, 70.0, 80.0])
        counts[0, 1], counts[2, 3], counts[2, 0] = 7, 3, 1
        keys = np.flatnonzero(counts)
        sparse = TransitionMatrix.from_counts(PairCounts(keys, counts.ravel()[keys]), 4)
        dense = TransitionMatrix.from_counts(PairCounts(all_pairs(4).keys, counts.ravel()), 4)
        assert sparse.strengths == dense.strengths
        assert sparse.occam_factor == pytest.approx(dense.occam_factor)
        np.testing.assert_allclose(sparse.to_dense(), dense.to_dense())

    def test_structure_costs(self) -> None:
        symmetric = from_matrix(0.8 * np.eye(5) + 0.04, 400)
        one_way = from_matrix(0.84 * np.eye(5) + 0.16 * np.roll(np.eye(5), 1, axis=1), 400)
        assert one_way.occam_factor < symmetric.occam_factor - 5


@settings(max_examples=40, derandomize=True)
@given(
    counts=arrays(np.float64, (4, 4), elements=st.floats(0, 1e5)),
    rates=st.sampled_from(STRENGTHS),
    targets=st.sampled_from(STRENGTHS),
)
def test_any_counts_give_distributions(counts: Array, rates: float, targets: float) -> None:
    for strengths in (None, Strengths(rates, targets)):
        matrix = TransitionMatrix.from_counts(PairCounts(all_pairs(4).keys, counts.ravel()), 4, strengths)
        dense = matrix.to_dense()
        assert (dense > 0).all()
        np.testing.assert_allclose(dense.sum(axis=1), 1)
        assert matrix.occam_factor <= 1e-3
