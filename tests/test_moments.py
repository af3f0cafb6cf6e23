"""Class moments add up, and eigenvectors are those of NumPy's SVD."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.moments import ClassMoments, class_vector, top_eigenpair, top_eigenpairs_dense


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Many tiny matrices: threads would only wait for each other."""
    with threadpool_limits(1):
        yield


def by_svd(rows: Array, weights: Array | None = None) -> tuple[float, Array]:
    scaled = np.asarray(rows, dtype=np.float64) * (1 if weights is None else np.sqrt(weights)[:, None])
    _, singular, right = np.linalg.svd(scaled, full_matrices=False)
    return float(singular[0] ** 2), right[0]


def assert_pair(result: tuple[float, Array], expected: tuple[float, Array], tolerance: float = 1e-9) -> None:
    value, vector = result
    assert value == pytest.approx(expected[0], rel=tolerance)
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert abs(vector @ expected[1]) >= 1 - tolerance
    assert vector.sum() >= 0  # the sign is settled, so pieces and the whole give the same one


SHAPES = [(1, 1), (1, 300), (2, 5), (5, 2), (64, 64), (65, 65), (300, 70), (70, 300), (1000, 128), (150, 600)]


class TestTopEigenpair:
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("kind", ["relu", "centred", "offset"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_equals_svd(self, shape: tuple[int, int], kind: str, dtype: Any) -> None:
        rng = np.random.default_rng(sum(shape))
        rows = rng.standard_normal(shape) * np.geomspace(3, 1, shape[1])
        rows = {"relu": np.maximum(rows, 0) + 1e-3, "centred": rows - rows.mean(axis=0) * (shape[0] > 1)}.get(
            kind, rows + 2
        )
        tolerance = 1e-9 if dtype == np.float64 else 1e-5
        assert_pair(top_eigenpair(rows.astype(dtype)), by_svd(rows.astype(dtype)), tolerance)

    @pytest.mark.parametrize("shape", [(40, 30), (300, 100), (100, 300)])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_weights_are_repeated_rows(self, shape: tuple[int, int], dtype: Any) -> None:
        rng = np.random.default_rng(1)
        rows = (rng.random(shape) * np.geomspace(2, 1, shape[1])).astype(dtype)
        weights = rng.integers(0, 4, shape[0])
        tolerance = 1e-9 if dtype == np.float64 else 1e-5
        assert_pair(top_eigenpair(rows, weights.astype(float)), by_svd(np.repeat(rows, weights, axis=0)), tolerance)

    @pytest.mark.parametrize("n", [50, 200])
    @pytest.mark.parametrize("d", [20, 100])
    def test_rows_whose_mean_is_orthogonal_to_the_first_eigenvector(self, n: int, d: int) -> None:
        # The mean is an eigenvector itself, but of a small eigenvalue.
        rows = np.zeros((n, d))
        rows[: n // 2 - 5, 0], rows[n // 2 - 5 : n - 10, 0], rows[n - 10 :, 1] = 10, -10, 1
        value, vector = top_eigenpair(rows)
        assert value == pytest.approx(100 * (n - 10))
        assert abs(vector[0]) == pytest.approx(1)

    @pytest.mark.parametrize("n", [50, 200])
    def test_rows_that_cancel_out(self, n: int) -> None:
        rows = (
            np.tile(np.random.default_rng(0).standard_normal(100), (n, 1))
            * np.where(np.arange(n) % 2, 1, -1)[:, None]
        )
        assert_pair(top_eigenpair(rows), by_svd(rows))

    def test_a_small_gap(self) -> None:
        rng = np.random.default_rng(3)
        basis = np.linalg.qr(rng.standard_normal((120, 120)))[0]
        rows = np.sqrt(np.concatenate([[1.001, 1.0], np.linspace(0.9, 0.1, 118)]))[:, None] * basis.T
        value, vector = top_eigenpair(rows)
        assert value == pytest.approx(1.001, rel=1e-6)
        assert abs(vector @ basis[:, 0]) > 1 - 1e-6

    @pytest.mark.parametrize("shape", [(0, 5), (3, 5), (100, 100), (200, 80)])
    def test_nothing_has_no_direction(self, shape: tuple[int, int]) -> None:
        value, vector = top_eigenpair(np.zeros(shape))
        assert value == 0
        np.testing.assert_array_equal(vector, np.zeros(shape[1]))

    @pytest.mark.parametrize("scale", [1e-12, 1e12])
    def test_any_scale(self, scale: float) -> None:
        rows = np.random.default_rng(0).random((200, 100)) * scale
        assert_pair(top_eigenpair(rows), by_svd(rows))

    def test_integers(self) -> None:
        rows = np.random.default_rng(0).integers(0, 9, (200, 100))
        assert_pair(top_eigenpair(rows), by_svd(rows))

    def test_rows_are_not_changed(self) -> None:
        rows = np.random.default_rng(0).random((200, 100))
        rows.setflags(write=False)
        weights = np.ones(200)
        weights.setflags(write=False)
        top_eigenpair(rows, weights)
        top_eigenpair(rows[:5], weights[:5])

    def test_several_of_a_matrix(self) -> None:
        rows = np.random.default_rng(0).random((50, 8))
        values, vectors = top_eigenpairs_dense(rows.T @ rows, k=3)
        _, singular, right = np.linalg.svd(rows)
        np.testing.assert_allclose(values, singular[:3] ** 2)
        np.testing.assert_allclose(np.abs(np.sum(vectors * right[:3], axis=1)), 1)


def moments_of(X: Array, y: Array, weights: Array | None = None) -> ClassMoments:
    classes, codes = np.unique(y, return_inverse=True)
    return ClassMoments.of(X, codes, classes, weights)


def assert_equal_moments(a: ClassMoments, b: ClassMoments, rtol: float = 1e-10) -> None:
    np.testing.assert_array_equal(a.classes, b.classes)
    for name in ("counts", "sums", "seconds"):
        first, other = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(first, other, rtol=rtol, atol=rtol * np.abs(other).max(initial=1))


class TestClassMoments:
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32, np.bool_])
    def test_equals_a_slow_loop(self, dtype: Any) -> None:
        rng = np.random.default_rng(0)
        X, y = (rng.random((60, 4)) * 3).astype(dtype), rng.integers(-2, 3, 60)
        moments = moments_of(X, y)
        exact = X.astype(np.float64)
        for j, label in enumerate(np.unique(y)):
            of_class = exact[y == label]
            assert moments.counts[j] == len(of_class)
            np.testing.assert_allclose(moments.sums[j], sum(of_class), rtol=1e-6)
            np.testing.assert_allclose(moments.seconds[j], sum(np.outer(z, z) for z in of_class), rtol=1e-5)

    @given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 60), max_size=4))
    @settings(max_examples=25)
    def test_pieces_add_up_in_any_order(self, seed: int, cuts: list[int]) -> None:
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((60, 3)), rng.choice(np.array(["a", "bb", "ccc", "d"]), 60)
        bounds = [0, *sorted(cuts), 60]
        pieces = [moments_of(X[a:b], y[a:b]) for a, b in pairwise(bounds) if b > a]
        order = rng.permutation(len(pieces))
        total = pieces[order[0]]
        for i in order[1:]:
            total = total + pieces[i]
        assert_equal_moments(total, moments_of(X, y))

    def test_weights(self) -> None:
        rng = np.random.default_rng(0)
        X, y, w = rng.random((50, 3)), rng.integers(0, 3, 50), rng.integers(0, 4, 50)
        assert_equal_moments(moments_of(X, y, w), moments_of(np.repeat(X, w, axis=0), np.repeat(y, w)))

    def test_what_was_added_can_be_taken_away(self) -> None:
        rng = np.random.default_rng(0)
        X, y = rng.random((50, 3)), rng.integers(0, 3, 50)
        assert_equal_moments(moments_of(X, y) - moments_of(X[:20], y[:20]), moments_of(X[20:], y[20:]))

    def test_chunks(self) -> None:
        X = np.random.default_rng(0).random((5000, 1000))  # 40 MB of one class: several chunks
        moments = ClassMoments.of(X, np.zeros(5000, dtype=np.intp), np.array([0]))
        np.testing.assert_allclose(moments.seconds[0], X.T @ X, rtol=1e-9)

    def test_what_does_not_fit_together(self) -> None:
        a = moments_of(np.ones((2, 3)), np.array([0, 1]))
        with pytest.raises(InvalidData, match="moments of 3 and of 2 features cannot be combined"):
            _ = a + moments_of(np.ones((2, 2)), np.array([0, 1]))
        with pytest.raises(InvalidData, match="labels of type int64 and of type <U1"):
            _ = a + moments_of(np.ones((2, 3)), np.array(["0", "1"]))


class TestClassVector:
    @pytest.mark.parametrize("d", [5, 100])
    @pytest.mark.parametrize("component", [1, 2, 3])
    def test_eigenvectors(self, d: int, component: int) -> None:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((400, d)) * np.geomspace(9, 1, d)
        y = np.arange(400) % 2
        moments = moments_of(X, y)
        for k in range(2):
            value, vector = class_vector(moments, k, component=component)
            _, singular, right = np.linalg.svd(X[y == k], full_matrices=False)
            assert value == pytest.approx(singular[component - 1] ** 2)
            assert abs(vector @ right[component - 1]) == pytest.approx(1)

    def test_mean(self) -> None:
        X = np.array([[1.0, 2.0], [5.0, 6.0], [0.0, 1.0], [0.0, 0.0]])
        moments = moments_of(X, np.array([0, 0, 1, 2]))
        for k, mean in enumerate([[3.0, 4.0], [0.0, 1.0]]):
            value, vector = class_vector(moments, k, "mean")
            assert value == pytest.approx(np.dot(mean, mean))
            np.testing.assert_allclose(vector, np.array(mean) / np.linalg.norm(mean))
        assert class_vector(moments, 2, "mean")[0] == 0
        np.testing.assert_array_equal(class_vector(moments, 2, "mean")[1], [0, 0])

    @pytest.mark.parametrize("d", [3, 100])
    def test_zeros(self, d: int) -> None:
        value, vector = class_vector(moments_of(np.zeros((4, d)), np.zeros(4, dtype=int)), 0)
        assert value == 0
        np.testing.assert_array_equal(vector, np.zeros(d))

    def test_component_out_of_range(self) -> None:
        with pytest.raises(InvalidOption, match="component must be at most the number of features, 2, got 3"):
            class_vector(moments_of(np.ones((4, 2)), np.zeros(4, dtype=int)), 0, component=3)
