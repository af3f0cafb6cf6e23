"""TopoFilter against a slow loop: a queue through the graph, then a count of neighbours."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import cosine_distances, euclidean_distances

from eigenclean.arrays import Array, Bools
from eigenclean.detect.baselines.topofilter import TopoFilter, _in_largest_component
from eigenclean.errors import InvalidOption


def noisy_digits(rate: float = 0.3, n: int = 700) -> tuple[Array, Array, Array, Bools]:
    X, truth = (np.asarray(array)[:n] for array in load_digits(return_X_y=True))
    rng = np.random.default_rng(0)
    wrong = rng.random(n) < rate
    return X, np.where(wrong, (truth + rng.integers(1, 10, n)) % 10, truth), truth, wrong


def slow_topofilter(X: Array, y: Array, k_cc: int, k_outlier: int, zeta: float, metric: str) -> tuple[Bools, Bools]:
    """Who is in a largest component, and who is kept."""
    table = np.asarray({"cosine": cosine_distances, "euclidean": euclidean_distances}[metric](X))
    np.fill_diagonal(table, -1.0)
    joined: list[set[int]] = [set() for _ in y]
    for i, near in enumerate(np.argsort(table, axis=1)[:, 1 : k_cc + 1].tolist()):
        for j in near:
            if y[i] == y[j]:
                joined[i].add(j)
                joined[j].add(i)
    inside = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        components, seen = [], set()
        for start in np.flatnonzero(y == label).tolist():
            if start in seen:
                continue
            queue, component = [start], {start}
            while queue:
                for j in joined[queue.pop()] - component:
                    component.add(j)
                    queue.append(j)
            seen |= component
            components.append(component)
        most = max(len(component) for component in components)
        for component in components:
            if len(component) == most:
                inside[list(component)] = True
    kept = np.zeros(len(y), dtype=bool)
    rows = np.flatnonzero(inside)
    for i in rows.tolist():
        near = rows[np.argsort(table[i, rows])[: k_outlier + 1]]  # itself is the first
        counts = np.bincount(y[near], minlength=10)
        kept[i] = counts[y[i]] == counts.max() and (zeta > 1 or counts[y[i]] >= k_outlier * zeta)
    return inside, kept


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize(("k_cc", "k_outlier", "zeta"), [(4, 32, 0.5), (2, 32, 0.9), (8, 5, 2.0), (1, 10, 0.0)])
def test_slow_loop(k_cc: int, k_outlier: int, zeta: float, metric: Any) -> None:
    X, y, _, _ = noisy_digits()
    # Digits have whole numbers, hence equal distances, which a loop and an index order differently.
    X = X + np.random.default_rng(1).normal(0, 1e-3, X.shape)
    fitted = TopoFilter(k_cc=k_cc, k_outlier=k_outlier, zeta=zeta, metric=metric).fit(X, y)
    inside, kept = slow_topofilter(X, y, k_cc, k_outlier, zeta, metric)
    np.testing.assert_array_equal(fitted.in_component_, inside)
    verdict = fitted.judge(X, y)
    np.testing.assert_array_equal(~verdict.flagged, kept)
    np.testing.assert_array_equal(verdict.score > 0.5, kept)
    assert ((verdict.score > 0) & (verdict.score < 1)).all()


def test_the_default_compares_rows_as_they_are() -> None:
    X, y, _, _ = noisy_digits()
    rng = np.random.default_rng(1)
    # Of different lengths, so that cosines have other neighbours.
    X = (X + rng.normal(0, 1e-3, X.shape)) * rng.uniform(0.5, 2.0, (len(X), 1))
    fitted = TopoFilter().fit(X, y)
    inside, kept = slow_topofilter(X, y, 4, 32, 0.5, "euclidean")
    np.testing.assert_array_equal(fitted.in_component_, inside)
    np.testing.assert_array_equal(~fitted.judge(X, y).flagged, kept)
    by_cosine = slow_topofilter(X, y, 4, 32, 0.5, "cosine")
    assert (by_cosine[0] != inside).any() and (by_cosine[1] != kept).any()


def test_components() -> None:
    near = np.array([[1], [2], [1], [4], [3], [4]])
    codes = np.array([0, 0, 0, 0, 1, 1])
    #  0-1-2 hang together, 3 is alone; 4-5 through 5's neighbour, not through 4's own.
    np.testing.assert_array_equal(_in_largest_component(near, codes, 2), [True, True, True, False, True, True])
    ties = _in_largest_component(np.array([[1], [0], [3], [2]]), np.zeros(4, dtype=int), 1)
    assert ties.all()


def test_noise_is_found_and_named() -> None:
    X, y, truth, wrong = noisy_digits(0.4, n=1500)
    verdict = TopoFilter().judge(X, y)
    assert verdict.flagged[wrong].mean() > 0.95
    flagged_wrong = verdict.flagged & wrong
    assert (verdict.suggested[flagged_wrong] == truth[flagged_wrong]).mean() > 0.9


def test_some_of_the_samples_and_new_ones() -> None:
    X, y, _, wrong = noisy_digits()
    fitted = TopoFilter().fit(X[:500], y[:500])
    whole = fitted.judge(X[:500], y[:500])
    picked = np.random.default_rng(0).permutation(500)[:100]
    subset = fitted.judge(X[picked], y[picked])
    np.testing.assert_allclose(subset.score, whole.score[picked], rtol=1e-6)
    new = fitted.judge(X[500:], y[500:])
    assert new.flagged[wrong[500:]].mean() > 0.9
    assert new.flagged[~wrong[500:]].mean() < 0.5


def test_options() -> None:
    X, y, _, _ = noisy_digits()
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"k_cc": 0}, "k_cc must be a whole number of at least 1, got 0"),
        ({"k_outlier": 0}, "k_outlier must be a whole number of at least 1, got 0"),
        ({"metric": "manhattan"}, "metric must be one of cosine, euclidean, got 'manhattan'"),
        ({"zeta": -0.1}, "zeta must not be negative, got -0.1"),
    )
    for options, words in cases:
        with pytest.raises(InvalidOption, match=f"TopoFilter: {words}"):
            TopoFilter(**options).fit(X, y)


def test_what_was_kept_stays_in_the_set_until_it_is_an_outlier() -> None:
    X, y, _, wrong = noisy_digits()
    plain = TopoFilter().fit(X, y)
    so_far = ~plain.in_component_ & ~wrong  # right labels that hang together with nobody
    assert so_far.sum() > 5
    grown = TopoFilter().adding_to(so_far).fit(X, y)
    assert np.array_equal(grown.in_component_, plain.in_component_ | so_far)
    kept, before = ~grown.judge(X, y).flagged, ~plain.judge(X, y).flagged
    assert (kept & so_far).any() and not (before & so_far).any()
    # Outliers are left out of what was kept before, too.
    mistakes = TopoFilter().adding_to(wrong).fit(X, y)
    assert mistakes.in_component_[wrong].all()
    assert mistakes.judge(X, y).flagged[wrong].mean() > 0.9
