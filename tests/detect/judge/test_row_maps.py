"""Ways to prepare rows: standardised columns, random Fourier features, and which of them is chosen."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import make_moons

from eigenclean.arrays import Array, Ints
from eigenclean.detect.folds import content_folds
from eigenclean.detect.judge.row_maps import FourierFeatures, StandardizedColumns, typical_distance
from eigenclean.detect.judge.unit_rows import RowNormalizer, UnitRows
from eigenclean.detect.judge.views.selection import BANDWIDTHS, SampledRows, choose_kernel, choose_row_map

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6)) * [1, 10, 100, 0.1, 5, 1] + [0, 5, -100, 0, 1e3, 0]


def sample_of(features: Array, codes: Ints, k: int) -> SampledRows:
    return SampledRows(features, codes, content_folds(features, 5), None, k, 5)


class TestStandardizedColumns:
    def test_mean_and_standard_deviation(self) -> None:
        rows = StandardizedColumns.of(X).apply(X)
        np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(rows.std(axis=0), 1, atol=1e-9)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
    def test_constant_columns_become_zero(self, dtype: type) -> None:
        features: Array = np.array([[1, 7, 0], [2, 7, 0], [4, 7, 0]], dtype=dtype)
        rows = StandardizedColumns.of(features).apply(features)
        assert np.isfinite(rows).all()
        np.testing.assert_array_equal(rows[:, 1:], 0)

    def test_a_constant_column_of_a_number_that_is_not_binary(self) -> None:
        """Rounding in the mean must not be taken for a standard deviation."""
        features = np.stack([np.full(1000, 0.1), np.full(1000, 1e9 + 0.3), np.arange(1000)], axis=1)
        rows = StandardizedColumns.of(features).apply(features)
        assert abs(rows[:, :2]).max() < 1e-3

    @pytest.mark.parametrize("huge", [1e30, -1e30, 1e100])
    def test_huge_values_stay_finite_and_small(self, huge: float) -> None:
        features = X.copy()
        features[3, 2] = huge
        for rows in (StandardizedColumns.of(features).apply(features), StandardizedColumns.of(X).apply(features)):
            assert np.isfinite(rows).all()
            assert abs(rows).max() < 20

    def test_some_rows_are_those_rows(self) -> None:
        row_map, index = StandardizedColumns.of(X), np.array([5, 0, 7])
        np.testing.assert_array_equal(row_map.apply(X, index), row_map.apply(X)[index])


class TestFourierFeatures:
    @pytest.mark.parametrize("bandwidth", [0.5, 2.0, 8.0])
    def test_inner_products_are_those_of_the_gaussian_kernel(self, bandwidth: float) -> None:
        base = StandardizedColumns.of(X)
        rows = base.apply(X)
        kernel = np.exp(-cdist(rows, rows, "sqeuclidean") / (2 * bandwidth**2))
        features = FourierFeatures(base, bandwidth, 20_000).apply(X)
        np.testing.assert_allclose(features @ features.T, kernel, atol=0.05)

    def test_the_centre_is_subtracted(self) -> None:
        base = StandardizedColumns.of(X)
        plain = FourierFeatures(base, 2.0, 64)
        centred = FourierFeatures(base, 2.0, 64, plain.apply(X).mean(axis=0))
        np.testing.assert_allclose(centred.apply(X).mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(centred.apply(X) - centred.apply(X)[0], plain.apply(X) - plain.apply(X)[0])

    def test_rows_in_pieces_and_in_another_object(self) -> None:
        base = RowNormalizer.of(X)
        whole = FourierFeatures(base, 0.7, 64).apply(X)
        again = FourierFeatures(base, 0.7, 64)  # the frequencies are the same for all engines
        index = np.arange(199, -1, -3)
        np.testing.assert_allclose(again.apply(X, index), whole[index], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(again.apply(X[50:60]), whole[50:60], rtol=1e-9, atol=1e-12)
        rows = UnitRows(X, content_folds(X, 3), again)
        assert rows.n_columns == 64 and again.apply(X.astype(np.float32)).dtype.itemsize == 4


class TestMedianDistance:
    def test_is_that_of_random_pairs(self) -> None:
        rows = StandardizedColumns.of(X).apply(X)
        assert typical_distance(rows) == pytest.approx(float(np.sqrt(np.mean(pdist(rows) ** 2))), rel=0.01)

    def test_equal_rows_have_distance_one(self) -> None:
        assert typical_distance(np.ones((5, 3))) == 1.0


class TestChoice:
    def test_columns_with_different_units_are_standardised(self) -> None:
        codes = RNG.integers(0, 3, 600)
        informative = 2.0 * np.eye(3)[codes] + RNG.normal(size=(600, 3))
        features = np.concatenate([informative, 1e4 * RNG.normal(size=(600, 2))], axis=1)
        chosen = choose_row_map(sample_of(features, codes, 3), RowNormalizer.of(features))
        assert isinstance(chosen, StandardizedColumns)

    def test_directions_are_kept_where_lengths_say_nothing(self) -> None:
        codes = RNG.integers(0, 3, 600)
        features = (RNG.normal(size=(3, 20))[codes] + RNG.normal(size=(600, 20))) * RNG.lognormal(
            sigma=2, size=(600, 1)
        )
        unit = RowNormalizer.of(features)
        assert choose_row_map(sample_of(features, codes, 3), unit) is unit

    def test_a_narrow_kernel_for_a_fine_pattern(self) -> None:
        """A chess board of 6 x 6 fields needs a narrow kernel, half-planes need none."""
        features = RNG.uniform(0, 6, size=(1500, 2))
        board = np.floor(features).sum(axis=1).astype(np.intp) % 2
        halves = (features[:, 0] > 3).astype(np.intp)
        base = StandardizedColumns.of(features)
        distance = typical_distance(base.apply(features))
        narrow, wide = (choose_kernel(sample_of(features, codes, 2), base).bandwidth for codes in (board, halves))
        assert narrow == pytest.approx(BANDWIDTHS[0] * distance)
        assert wide > narrow

    def test_the_kernel_separates_moons(self) -> None:
        features, codes = make_moons(600, noise=0.1, random_state=0)
        sample = sample_of(features, codes, 2)
        base = StandardizedColumns.of(features)
        kernel = choose_kernel(sample, base)
        assert abs(kernel.apply(features).mean(axis=0)).max() < 1e-9
        assert sample.log_likelihood(kernel) > sample.log_likelihood(base) + 0.1

    def test_weights_choose_the_rows_that_are_learned_from(self) -> None:
        """Rows of weight 0 with random labels do not change the discriminants of the others."""
        codes = RNG.integers(0, 2, 400)
        features = 4.0 * np.eye(2)[codes] + RNG.normal(size=(400, 2))
        folds = content_folds(features, 5)
        weight = (np.arange(400) < 200).astype(np.float64)
        wrong = np.where(weight > 0, codes, 1 - codes)
        base = StandardizedColumns.of(features)
        values = [SampledRows(features, wrong, folds, each, 2, 5).log_likelihood(base) for each in (weight, None)]
        assert values[0] > values[1]
