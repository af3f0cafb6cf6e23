"""FINE fitted on pieces and merged is FINE fitted at once."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from eigenclean import FINE, Verdict
from eigenclean.arrays import Array
from eigenclean.errors import EigencleanWarning, InvalidData, InvalidOption, TooFewSamples


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Many tiny matrices: threads would only wait for each other."""
    with threadpool_limits(1):
        yield


def data(dtype: Any = np.float64, *, names: bool = False) -> tuple[Array, Array]:
    X, y = (np.asarray(array) for array in load_digits(return_X_y=True))
    rng = np.random.default_rng(0)
    y = np.where(rng.random(len(y)) < 0.3, rng.integers(0, 10, len(y)), y)
    X = np.hstack([X, np.sqrt(X)[:, ::2]])  # 96 columns: the iterative eigensolver
    return X.astype(dtype), np.array([f"class {'abcdefghij'[i] * (i + 1)}" for i in range(10)])[y] if names else y


def assert_same_fit(a: FINE, b: FINE, tolerance: float) -> None:
    np.testing.assert_array_equal(a.classes_, b.classes_)
    np.testing.assert_array_equal(a.n_samples_per_class_, b.n_samples_per_class_)
    np.testing.assert_allclose(a.eigenvectors_, b.eigenvectors_, atol=tolerance)
    np.testing.assert_allclose(a.eigenvalues_, b.eigenvalues_, rtol=tolerance)


def assert_same_verdict(a: Verdict, b: Verdict, tolerance: float) -> None:
    np.testing.assert_allclose(a.score, b.score, atol=tolerance)
    if tolerance < 1e-6:
        np.testing.assert_allclose(a.p_clean, b.p_clean, atol=1e-5)
        np.testing.assert_array_equal(a.flagged, b.flagged)
        np.testing.assert_array_equal(a.suggested, b.suggested)
        np.testing.assert_allclose(a.suggested_confidence, b.suggested_confidence, atol=1e-4)
    else:
        assert np.mean(a.flagged != b.flagged) < 0.005


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("names", [False, True])
@pytest.mark.parametrize("how", ["partial_fit", "merge", "merge_fits"])
def test_uneven_pieces(dtype: Any, names: bool, how: str) -> None:
    X, y = data(dtype, names=names)
    tolerance = 1e-8 if dtype == np.float64 else 2e-5
    bounds = [0, 40, 41, 700, 705, len(X)]
    pieces = [slice(a, b) for a, b in pairwise(bounds)]
    whole = FINE().fit(X, y)
    if how == "partial_fit":
        parts = FINE()
        for piece in pieces:
            parts.partial_fit(X[piece], y[piece])
    elif how == "merge":
        parts = FINE().partial_fit(X[pieces[0]], y[pieces[0]])
        for piece in reversed(pieces[1:]):
            parts.merge(FINE().partial_fit(X[piece], y[piece]))
    else:  # fit keeps moments of small data
        parts = FINE().fit(X[:900], y[:900]).merge(FINE().fit(X[900:], y[900:]))
    assert_same_fit(parts, whole, tolerance)
    assert_same_verdict(parts.judge(X, y), whole.judge(X, y), tolerance)
    assert_same_verdict(parts.fit_cut(X, y).judge(X, y), whole.judge(X, y), tolerance)


@pytest.mark.parametrize("options", [{"vector": "mean"}, {"component": 2}, {"preset": "paper"}, {"cut": "beta"}])
def test_all_options(options: dict[str, Any]) -> None:
    X, y = data()
    parts = FINE(**options).partial_fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    whole = FINE(**options).fit(X, y)
    assert_same_fit(parts, whole, 1e-8)
    np.testing.assert_allclose(parts.judge(X, y).score, whole.judge(X, y).score, rtol=1e-7)


@pytest.mark.parametrize("names", [False, True])
def test_pieces_with_disjoint_classes(names: bool) -> None:
    X, y = data(names=names)
    classes = np.unique(y)
    one_class_each = [FINE().partial_fit(X[y == label], y[y == label]) for label in classes]
    total = one_class_each[7]  # any order
    for i in (2, 9, 0, 1, 8, 3, 4, 6, 5):
        total.merge(one_class_each[i])
    assert_same_fit(total, FINE().fit(X, y), 1e-8)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
@settings(max_examples=10)
def test_the_order_of_merging_is_irrelevant(seed: int, n_pieces: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.random((120, 5)), np.arange(120) % 4
    which = rng.integers(0, n_pieces, 120)
    fits = [FINE().partial_fit(X[which == i], y[which == i]) for i in range(n_pieces) if (which == i).any()]
    total = fits.pop(int(rng.integers(len(fits))))
    while fits:
        total.merge(fits.pop(int(rng.integers(len(fits)))))
    assert_same_fit(total, FINE().fit(X, y), 1e-7)


def test_merging_leaves_the_other_alone() -> None:
    X, y = data()
    other = FINE().partial_fit(X[:500], y[:500])
    before = other.eigenvectors_.copy()
    FINE().partial_fit(X[500:], y[500:]).merge(other)
    np.testing.assert_array_equal(other.eigenvectors_, before)
    assert other.n_samples_per_class_.sum() == 500


def test_more_samples_change_the_answer() -> None:
    X, y = data()
    fine = FINE().fit(X[:900], y[:900])
    first = fine.eigenvectors_.copy()
    assert hasattr(fine, "cut_")
    fine.partial_fit(X[900:], y[900:])
    assert not hasattr(fine, "cut_")  # the scores have changed, so the cut is gone
    assert np.abs(fine.eigenvectors_ - first).max() > 1e-6
    assert_same_fit(fine, FINE().fit(X, y), 1e-8)


def test_fitting_anew_forgets() -> None:
    X, y = data()
    fine = FINE().partial_fit(X[:900], y[:900]).fit(X[900:], y[900:])
    assert_same_fit(fine, FINE().fit(X[900:], y[900:]), 1e-12)


def test_moments_of_large_data_are_kept_only_when_asked() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 2700), dtype=np.float32), np.arange(300) % 2
    sentence = (
        "merge needs the class moments, which fit does not keep for large data; use partial_fit on the pieces"
    )
    for first, other in (
        (FINE().fit(X, y), FINE().fit(X, y)),
        (FINE(keep_moments=False).fit(X[:, :9], y), FINE().fit(X[:, :9], y)),
        (FINE().fit(X[:, :9], y), FINE(keep_moments=False).fit(X[:, :9], y)),
    ):
        with pytest.raises(InvalidOption, match=sentence):
            first.merge(other)
    kept = FINE(keep_moments=True).fit(X[:, :500], y).merge(FINE(keep_moments=True).fit(X[:, :500], y))
    np.testing.assert_array_equal(kept.n_samples_per_class_, [300, 300])


def test_partial_fit_never_forgets_silently() -> None:
    X, y = data()
    with pytest.raises(InvalidOption, match="partial_fit after fit needs the class moments"):
        FINE(keep_moments=False).fit(X[:900], y[:900]).partial_fit(X[900:], y[900:])


def test_what_does_not_fit_together() -> None:
    X, y = data()
    fine = FINE().partial_fit(X, y)
    with pytest.raises(InvalidData, match="moments of 96 and of 5 features"):
        fine.partial_fit(X[:, :5], y)
    with pytest.raises(InvalidData, match="labels of type"):
        fine.merge(FINE().partial_fit(X, np.array(list("abcdefghij"))[y]))
    with pytest.raises(InvalidOption, match="subset samples the whole data and cannot be used with partial_fit"):
        FINE(subset=0.1).partial_fit(X, y)
    assert_same_fit(fine, FINE().fit(X, y), 1e-8)  # nothing was half added


def test_one_class_so_far_can_be_added_to_but_not_judged() -> None:
    X, y = data()
    fine = FINE().partial_fit(X[y == 0], y[y == 0])
    with pytest.raises(TooFewSamples, match="at least two classes"):
        fine.judge(X[y == 0], y[y == 0])
    fine.partial_fit(X[y != 0], y[y != 0])
    assert len(fine.judge(X, y)) == len(X)


def test_the_cut_may_be_fitted_on_a_sample_of_the_data() -> None:
    X, y = data()
    fine = FINE().partial_fit(X, y)
    some = y < 8
    with pytest.warns(EigencleanWarning, match=r"2 classes \(8, 9\) kept whole"):
        fine.fit_cut(X[some], y[some])
    verdict = fine.judge(X, y)
    assert not verdict.flagged[~some].any()
    assert verdict.flagged[some].any()


@pytest.mark.parametrize("cut", ["gaussian", "beta", "kmeans", "quantile", "fixed"])
def test_part_of_the_classes_can_be_judged(cut: str) -> None:
    X, y = data()
    some = y < 3
    verdict = FINE(cut=cut, threshold=0.7).partial_fit(X, y).judge(X[some], y[some])
    assert len(verdict) == some.sum()
    assert (verdict.suggested[verdict.flagged] > 2).any()  # the alternative may be a class that is not among these


def test_clones_start_afresh() -> None:
    X, y = data()
    fine = FINE(threshold=0.3).partial_fit(X, y)
    fresh = clone(fine)
    assert fresh.threshold == 0.3
    assert not hasattr(fresh, "classes_")
    assert not hasattr(fresh, "eigenvectors_")
