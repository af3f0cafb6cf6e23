"""The nearest neighbours against a sorted table of all distances."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_distances
from sklearn.neighbors import NearestNeighbors

from eigenclean.arrays import Array, Ints
from eigenclean.detect.baselines.neighbours import NeighbourIndex, sums_by_label, unit_rows
from eigenclean.detect.baselines.simifeat import SimiFeat
from eigenclean.errors import InvalidOption


def some(n: int = 200, d: int = 7, seed: int = 0) -> tuple[Array, Ints]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.integers(0, 3, n)


@pytest.mark.parametrize("k", [1, 5, 199, 500])
def test_all_distances_sorted(k: int) -> None:
    X, codes = some()
    result = NeighbourIndex.of(X, codes).find(X, codes, k)
    table = cosine_distances(X)
    np.fill_diagonal(table, np.inf)
    expected = np.argsort(table, axis=1)[:, : min(k, 199)]
    np.testing.assert_array_equal(result.index, expected)
    np.testing.assert_allclose(result.distance, np.take_along_axis(table, expected, axis=1), atol=1e-6)
    np.testing.assert_array_equal(result.self_index, np.arange(200))


def test_new_rows_have_no_self() -> None:
    X, codes = some()
    new, labels = some(50, seed=1)
    result = NeighbourIndex.of(X, codes).find(new, labels, 4)
    np.testing.assert_array_equal(result.index, np.argsort(cosine_distances(new, X), axis=1)[:, :4])
    assert (result.self_index == -1).all()


def test_some_of_the_training_rows_are_themselves() -> None:
    X, codes = some()
    neighbours = NeighbourIndex.of(X, codes)
    whole = neighbours.find(X, codes, 6)
    picked = np.random.default_rng(2).permutation(200)[:70]
    subset = neighbours.find(X[picked].astype(np.float32) * 3, codes[picked], 6)
    np.testing.assert_array_equal(subset.index, whole.index[picked])
    np.testing.assert_array_equal(subset.self_index, picked)


def test_one_of_several_equal_rows_is_self_and_rather_of_the_same_label() -> None:
    X = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    codes = np.array([1, 0, 2, 0])
    neighbours = NeighbourIndex.of(X, codes)
    for label, rest in ((0, [1, 2]), (1, [0, 2]), (2, [0, 1])):
        result = neighbours.find(np.array([[5.0, 0.0]]), np.array([label]), 2)
        assert codes[result.self_index[0]] == label
        assert codes[result.index[0]].tolist() == rest  # equal distances in the order of the labels
    training_rows = neighbours.find(X, np.zeros(4, dtype=int), 2)  # the very rows, whatever their labels are now
    np.testing.assert_array_equal(training_rows.self_index, np.arange(4))


def test_the_last_search_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    X, codes = some()
    neighbours = NeighbourIndex.of(X, codes)
    searches = []
    search = NearestNeighbors.kneighbors

    def counted(self: NearestNeighbors, *arguments: Any, **options: Any) -> Any:
        searches.append(1)
        return search(self, *arguments, **options)

    monkeypatch.setattr(NearestNeighbors, "kneighbors", counted)
    for _ in range(3):
        neighbours.find(X.copy(), codes, 5)
    neighbours.find_within(5)
    assert len(searches) == 1
    for _ in range(2):
        neighbours.find(X[:20], codes[:20], 5)
    assert len(searches) == 2
    neighbours.find(X[:20], codes[:20] + 1, 5)
    neighbours.find(X[:20], codes[:20] + 1, 4)
    assert len(searches) == 4


def test_unit_rows_of_any_size() -> None:
    X, _ = some()
    X[3] = 0.0
    unit = unit_rows(X)
    assert unit.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), np.arange(200) != 3, atol=1e-6)
    for factor in (1e200, 1e-200, -1.0):
        np.testing.assert_array_equal(np.sign(factor) * unit_rows(factor * X), unit_rows(np.abs(factor) * X))
        np.testing.assert_allclose(np.abs(unit_rows(factor * X)), np.abs(unit), rtol=1e-6)


def test_sums_by_label() -> None:
    rng = np.random.default_rng(0)
    labels, weight = rng.integers(0, 4, (30, 6)), rng.random((30, 6))
    expected = np.zeros((30, 4))
    for i in range(30):
        for j in range(6):
            expected[i, labels[i, j]] += weight[i, j]
    np.testing.assert_allclose(sums_by_label(labels, weight, 4), expected)


@pytest.mark.parametrize("k", [2, 0, -1, 3.5, True, "ten"])
def test_counts_are_whole_numbers(k: object) -> None:
    X, codes = some()
    with pytest.raises(InvalidOption, match="SimiFeat: k must be a whole number of at least 3, got"):
        SimiFeat(k=k).fit(X, codes)  # type: ignore[arg-type]
