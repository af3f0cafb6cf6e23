"""The Lanczos iteration against SciPy's and against dense solvers, also where its start is of no use."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import eigsh

from eigenclean.arrays import Array, Float64s
from eigenclean.moments import LanczosIteration, eigenpair_by_start, top_eigenpair


def solve(gram: Float64s, start: Array) -> tuple[float, Float64s, int]:
    """Run the iteration to its end; also return the number of products with the matrix."""
    iteration, products = LanczosIteration(start), 0
    while not iteration.done:
        assert iteration.vector.dtype == start.dtype
        iteration.update(gram @ iteration.vector.astype(np.float64))
        products += 1
    return *iteration.eigenpair, products


def random_gram(seed: int, d: int, n: int) -> Float64s:
    rows = np.random.default_rng(seed).standard_normal((n, d)) + 0.3
    return rows.T @ rows


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("d", "n"), [(20, 200), (90, 300), (150, 60)])
def test_the_eigenpair_is_that_of_scipy(d: int, n: int, seed: int) -> None:
    gram = random_gram(seed, d, n)
    value, vector, _ = solve(gram, gram.sum(axis=0))
    expected, vectors = eigsh(gram, k=1, which="LA")
    assert value == pytest.approx(expected[0], rel=1e-10)
    assert abs(vector @ vectors[:, 0]) == pytest.approx(1.0, abs=1e-10)
    assert np.linalg.norm(vector) == pytest.approx(1.0) and vector.sum() >= 0


def test_the_vectors_to_multiply_are_orthonormal() -> None:
    gram = random_gram(0, 80, 100)
    iteration, vectors = LanczosIteration(np.ones(80)), []
    while not iteration.done:
        vectors.append(iteration.vector)
        iteration.update(gram @ iteration.vector)
    basis = np.stack(vectors)
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-12)


@pytest.mark.parametrize("start", ["zero", "orthogonal", "another eigenvector"])
def test_a_start_without_the_eigenvector_finds_it_all_the_same(start: str) -> None:
    """Rows that cancel out have a mean of zero, which says nothing about their first eigenvector."""
    diagonal = np.arange(1.0, 101.0)
    vectors = {
        "zero": np.zeros(100),
        "orthogonal": np.eye(100)[:99].sum(axis=0),
        "another eigenvector": np.eye(100)[0],
    }
    value, vector, _ = solve(np.diag(diagonal), vectors[start])
    assert value == pytest.approx(100.0, rel=1e-9)
    assert abs(vector[99]) == pytest.approx(1.0, abs=1e-6)


def test_the_eigenvector_as_start_needs_few_products() -> None:
    gram = random_gram(1, 100, 400)
    expected = np.linalg.eigh(gram)[1][:, -1]
    _, _, from_eigenvector = solve(gram, expected)
    _, _, from_nothing = solve(gram, np.zeros(100))
    assert from_eigenvector < from_nothing


def test_an_operator_of_zeros_has_no_eigenvector() -> None:
    value, vector, products = solve(np.zeros((10, 10)), np.ones(10))
    assert (value, products) == (0.0, 1)
    np.testing.assert_array_equal(vector, np.zeros(10))


def test_rank_one_ends_as_soon_as_its_space_is_exhausted() -> None:
    direction = np.random.default_rng(0).standard_normal(200)
    value, vector, products = solve(np.outer(direction, direction), np.zeros(200))
    assert products <= 3
    assert value == pytest.approx(direction @ direction, rel=1e-12)
    np.testing.assert_allclose(abs(vector @ direction), np.linalg.norm(direction), rtol=1e-12)


def test_eigenvalues_close_together_restart_the_iteration_and_it_still_ends() -> None:
    """The value is right to a small part of the spread even if the vector mixes close eigenvectors."""
    diagonal = np.linspace(0.9, 1.0, 400)
    value, vector, products = solve(np.diag(diagonal), np.zeros(400))
    assert products > 48  # more than one Krylov space
    assert value == pytest.approx(1.0, abs=1e-4)
    assert vector @ (diagonal * vector) == pytest.approx(value, rel=1e-9)


def test_the_precision_of_the_start_is_the_precision_of_the_result() -> None:
    gram = random_gram(2, 120, 300)
    expected = np.linalg.eigh(gram)[1][:, -1]
    errors, products = {}, {}
    for dtype in (np.float32, np.float64):
        _, vector, products[dtype] = solve(gram, gram.sum(axis=0).astype(dtype))
        errors[dtype] = 1 - abs(vector @ expected)
    assert errors[np.float64] < 1e-12 and errors[np.float32] < 1e-6
    assert products[np.float32] <= products[np.float64]


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-6, 1.0, 1e8]))
def test_scaling_the_operator_scales_the_value_alone(seed: int, scale: float) -> None:
    gram = random_gram(seed, 30, 80)
    start = gram.sum(axis=0)
    value, vector, products = solve(gram, start)
    scaled, same, as_many = solve(scale * gram, start)
    assert scaled == pytest.approx(scale * value, rel=1e-9)
    np.testing.assert_allclose(same, vector, atol=1e-8)
    assert abs(as_many - products) <= 1


@pytest.mark.parametrize("d", [64, 65, 100])
def test_a_gram_matrix_and_its_rows_have_the_same_eigenpair(d: int) -> None:
    """64 columns are solved densely, more by iteration."""
    rows = np.random.default_rng(3).standard_normal((300, d)) + 0.2
    by_rows = top_eigenpair(rows)
    by_gram = eigenpair_by_start(rows.T @ rows, rows.sum(axis=0))
    assert by_gram[0] == pytest.approx(by_rows[0], rel=1e-10)
    np.testing.assert_allclose(by_gram[1], by_rows[1], atol=1e-8)


@pytest.mark.parametrize("n", [30, 64, 65, 500])
def test_weights_are_copies_of_rows(n: int) -> None:
    rng = np.random.default_rng(4)
    rows, weights = rng.standard_normal((n, 90)) + 0.2, rng.integers(0, 4, n)
    value, vector = top_eigenpair(rows, weights.astype(np.float64))
    expected, expected_vector = top_eigenpair(np.repeat(rows, weights, axis=0))
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(vector, expected_vector, atol=1e-7)
