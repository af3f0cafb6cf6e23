"""Class vectors from blocks: every strategy, and every division of the rows into blocks, gives the same vectors."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenclean import FINE
from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect.blocks import LocalBlocks, split_rows
from eigenclean.detect.fine.eigenvectors import (
    ClassBlocks,
    EigenvectorStrategy,
    pairs_by_moments,
    weighted_class_sums,
)
from eigenclean.moments import top_eigenpair

K, D = 4, 70


def data(dtype: type = np.float64) -> tuple[Array, Ints]:
    """Three classes that are large enough to be iterated, and a small one; in no order."""
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat(np.arange(K), [150, 120, 90, 30]))
    return (rng.standard_normal((K, D))[codes] + 0.5 * rng.standard_normal((len(codes), D))).astype(dtype), codes


def read_again(blocks: LocalBlocks[Array]) -> LocalBlocks[Array]:
    """The same blocks without random access, as from a disk."""
    return LocalBlocks(lambda: iter(list(blocks)), len(blocks))


def class_blocks(X: Array, codes: Ints, rows: int, *, in_memory: bool = False) -> ClassBlocks:
    features, code_blocks = split_rows(X, rows), split_rows(codes, rows)
    return ClassBlocks(features if in_memory else read_again(features), code_blocks, K)


def oracle(X: Array, codes: Ints) -> tuple[Float64s, Float64s]:
    """A dense eigensolver on the rows of each class."""
    pairs = [np.linalg.eigh(X[codes == j].T.astype(np.float64) @ X[codes == j]) for j in range(K)]
    vectors = np.stack([vectors[:, -1] * np.sign(vectors[:, -1].sum()) for _, vectors in pairs])
    return np.array([values[-1] for values, _ in pairs]), vectors


@pytest.mark.parametrize("rows", [11, 100, 1000])
@pytest.mark.parametrize("strategy", ["rows", "moments", "iterations"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_every_strategy_gives_the_eigenvectors(strategy: str, rows: int, dtype: type, tolerance: float) -> None:
    X, codes = data(dtype)
    blocks = class_blocks(X, codes, rows)
    values, vectors = np.zeros(K), np.zeros((K, D))
    if strategy == "rows":
        for j, of_class in blocks.rows(dict.fromkeys(range(K))):
            values[j], vectors[j] = top_eigenpair(of_class)
    elif strategy == "moments":
        moments, starts = blocks.moments(np.arange(K))
        values, vectors = pairs_by_moments(moments, starts, blocks.dtype)
    else:
        values, vectors, passes = blocks.iterate()
        assert passes > 3
    expected_values, expected_vectors = oracle(X, codes)
    np.testing.assert_allclose(values, expected_values, rtol=tolerance)
    np.testing.assert_allclose(vectors, expected_vectors, atol=tolerance)


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("rows", [1, 50, 1000])
def test_rows_of_a_class_keep_their_order(rows: int, in_memory: bool) -> None:
    X, codes = data()
    positions = {0: None, 3: np.array([0, 2, 6]), 2: np.array([89])}
    blocks = class_blocks(X, codes, rows, in_memory=in_memory)
    seen = {j: of_class.copy() for j, of_class in blocks.rows(positions)}  # a buffer may be shared
    assert seen.keys() == positions.keys()
    for j, chosen in positions.items():
        of_class = X[codes == j]
        np.testing.assert_array_equal(seen[j], of_class if chosen is None else of_class[chosen])


@pytest.mark.parametrize("rows", [13, 1000])
def test_sums_counts_and_moments_are_those_of_the_rows(rows: int) -> None:
    X, codes = data()
    blocks = class_blocks(X, codes, rows)
    np.testing.assert_array_equal(blocks.sizes, np.bincount(codes))
    np.testing.assert_allclose(blocks.sums(), [X[codes == j].sum(axis=0) for j in range(K)], rtol=1e-9, atol=1e-9)
    moments, _ = blocks.moments(np.arange(K))
    for j in range(K):
        np.testing.assert_allclose(moments.seconds[j], X[codes == j].T @ X[codes == j], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows", [9, 64, 1000])
def test_starts_are_sums_of_the_first_rows_of_each_class(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start must not depend on the blocks, or engines would differ in the last digits."""
    monkeypatch.setattr("eigenclean.detect.fine.eigenvectors.start_rows", lambda d, dtype: 40)
    X, codes = data()
    _, starts = class_blocks(X, codes, rows).moments(np.arange(K))
    np.testing.assert_allclose(starts, [X[codes == j][:40].sum(axis=0) for j in range(K)], rtol=1e-9, atol=1e-9)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(-5, 5), st.floats(-5, 5)), max_size=20))
def test_weighted_sums_are_those_of_a_loop(rows: list[tuple[int, float, float]]) -> None:
    expected = np.zeros((4, 2))
    for code, weight, value in rows:
        expected[code] += weight * np.array([value, 1.0])
    codes = np.array([code for code, _, _ in rows], dtype=np.intp)
    weights = np.array([weight for _, weight, _ in rows])
    features = np.array([[value, 1.0] for _, _, value in rows]).reshape(-1, 2)
    np.testing.assert_allclose(weighted_class_sums(codes, weights, features, 4), expected, atol=1e-12)


@pytest.mark.parametrize("budget", [0, 1 << 20, 1 << 40])
@pytest.mark.parametrize("d", [65, 512, 4096])
def test_the_strategy_fits_into_the_budget_or_iterates(d: int, budget: int) -> None:
    chosen = EigenvectorStrategy.choose(n=10**6, d=d, k=100, itemsize=4, budget=budget)
    assert chosen.name == "iterations" or chosen.bytes <= budget
    assert chosen.record()["strategy"] == chosen.name


def fitted(X: Array, codes: Ints, rows: int, options: dict[str, Any]) -> FINE:
    fine = FINE(**options)
    fine.fit_blocks(split_rows(X, rows), split_rows(codes, rows), np.arange(K), D)
    return fine


@pytest.mark.parametrize("options", [{}, {"vector": "mean"}, {"component": 2}, {"subset": 0.3}])
@pytest.mark.parametrize("rows", [20, 101])
def test_several_blocks_in_memory_are_one(rows: int, options: dict[str, Any]) -> None:
    X, codes = data()
    whole, pieces = (fitted(X, codes, size, options) for size in (len(X), rows))
    np.testing.assert_allclose(pieces.eigenvectors_, whole.eigenvectors_, atol=1e-12)
    np.testing.assert_allclose(pieces.eigenvalues_, whole.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(pieces.score_samples(X, codes), whole.score_samples(X, codes), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rows", [20, 101, 1000])
def test_scores_of_blocks_are_scores_of_rows(rows: int) -> None:
    X, codes = data()
    fine = FINE().fit(X, codes)
    features = split_rows(X, rows)
    for blocks in (features, read_again(features)):
        scores = np.concatenate(list(fine.score_blocks(blocks, split_rows(codes, rows)).scores))
        np.testing.assert_allclose(scores, fine.score_samples(X, codes), rtol=1e-12)
