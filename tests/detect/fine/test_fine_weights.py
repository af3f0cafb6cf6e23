"""FINE on a subset, with sample weights, and how much memory it takes."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from eigenclean import FINE
from tests.detect.fine.test_fine import noisy_digits


class TestSubset:
    def test_only_the_vector_uses_the_subset(self) -> None:
        rng = np.random.default_rng(0)
        y = np.arange(20_000) % 4
        X = 5 * np.eye(100)[y] + 0.2 * rng.standard_normal((20_000, 100))
        full, sampled = FINE().fit(X, y), FINE(subset=0.01).fit(X, y)
        cosines = np.sum(full.eigenvectors_ * sampled.eigenvectors_, axis=1)
        assert (cosines > 0.99).all()
        assert (cosines < 1 - 1e-9).all()
        np.testing.assert_array_equal(sampled.n_samples_per_class_, full.n_samples_per_class_)
        assert len(sampled.score_samples(X, y)) == 20_000

    def test_seeded(self) -> None:
        X, y, _ = noisy_digits()
        vectors = [FINE(subset=0.1, random_state=seed).fit(X, y).eigenvectors_ for seed in (0, 0, 1)]
        np.testing.assert_array_equal(vectors[0], vectors[1])
        assert np.abs(vectors[0] - vectors[2]).max() > 1e-3

    def test_two_samples_at_least_and_all_at_most(self) -> None:
        X, y, _ = noisy_digits()
        fine = FINE(subset=1e-9).fit(X, y)
        for k in range(10):  # a combination of two rows of the class
            of_class = X[y == k]
            value = fine.eigenvalues_[k]
            assert value <= np.sort(np.sum(of_class**2, axis=1))[-2:].sum() + 1e-6
        np.testing.assert_allclose(FINE(subset=1.0).fit(X, y).eigenvectors_, FINE().fit(X, y).eigenvectors_)


class TestSampleWeight:
    @pytest.mark.parametrize("d", [64, 128])
    def test_a_mask_is_fitting_on_the_subset_and_scoring_everyone(self, d: int) -> None:
        X, y, wrong = noisy_digits()
        X = np.tile(X, (1, 2))[:, :d]
        masked, subset = FINE().fit(X, y, sample_weight=~wrong), FINE().fit(X[~wrong], y[~wrong])
        np.testing.assert_allclose(masked.eigenvectors_, subset.eigenvectors_, atol=1e-8)
        np.testing.assert_allclose(masked.eigenvalues_, subset.eigenvalues_)
        np.testing.assert_allclose(masked.score_samples(X, y), subset.score_samples(X, y))
        np.testing.assert_array_equal(masked.n_samples_per_class_, np.bincount(y))
        whole = FINE().fit(X, y)
        assert roc_auc_score(~wrong, masked.score_samples(X, y)) >= roc_auc_score(~wrong, whole.score_samples(X, y))

    def test_a_class_without_any_weight_learns_from_all_its_samples(self) -> None:
        X, y, wrong = noisy_digits()
        mask = ~wrong & (y != 4)
        fine, whole = FINE().fit(X, y, sample_weight=mask), FINE().fit(X, y)
        np.testing.assert_allclose(fine.eigenvectors_[4], whole.eigenvectors_[4])
        assert np.abs(fine.eigenvectors_[5] - whole.eigenvectors_[5]).max() > 1e-4

    @pytest.mark.parametrize("vector", ["eigen", "mean"])
    @pytest.mark.parametrize("high", [3, 5])
    def test_weights_are_repeated_rows(self, vector: Any, high: int) -> None:
        X, y, _ = noisy_digits()
        weight = np.random.default_rng(0).integers(1, high, len(y))
        weight[y == 2] = 3  # one class with equal weights
        weighted = FINE(vector=vector).fit(X, y, sample_weight=weight)
        repeated = FINE(vector=vector).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        np.testing.assert_allclose(weighted.eigenvectors_, repeated.eigenvectors_, atol=1e-8)
        np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_)

    def test_ones_change_nothing(self) -> None:
        X, y, _ = noisy_digits()
        for ones in (np.ones(len(y)), np.ones(len(y), dtype=bool), np.zeros(len(y))):  # zeros: nobody is left
            np.testing.assert_array_equal(FINE().fit(X, y, ones).eigenvectors_, FINE().fit(X, y).eigenvectors_)


class TestMemory:
    @pytest.mark.parametrize("kept", [None, False])
    @pytest.mark.parametrize("sort", [True, False])
    def test_little_beyond_the_features(self, kept: bool | None, sort: bool) -> None:
        rng = np.random.default_rng(0)
        X = rng.random((20_000, 256), dtype=np.float32)
        y = np.arange(20_000) % 10
        y = np.sort(y) if sort else y
        FINE(keep_moments=kept).fit(X[:500], y[:500] + np.arange(500) % 2)  # what is imported late
        tracemalloc.start()
        try:
            FINE(keep_moments=kept).fit(X, y)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 0.6 * X.nbytes

    def test_judging_too(self) -> None:
        X = np.random.default_rng(0).random((20_000, 256), dtype=np.float32)
        y = np.arange(20_000) % 10
        fine = FINE().fit(X, y)
        tracemalloc.start()
        try:
            fine.judge(X, y)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 0.6 * X.nbytes
