"""MCD against scikit-learn's covariance."""

from typing import Any

import numpy as np
import pytest
from sklearn.covariance import OAS, EmpiricalCovariance
from sklearn.datasets import load_digits

from eigenclean.arrays import Array, Bools
from eigenclean.detect.baselines.mcd import MCD, _random_keys
from eigenclean.errors import InvalidOption


def two_blobs(n: int = 400, d: int = 6, rate: float = 0.2, seed: int = 0) -> tuple[Array, Array, Bools]:
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 8 * truth[:, None]
    wrong = rng.random(n) < rate
    return X, np.where(wrong, 1 - truth, truth), wrong


def pooled(X: Array, y: Array) -> Array:
    """All rows, each minus the mean of its class."""
    return np.vstack([X[y == k] - X[y == k].mean(axis=0) for k in np.unique(y)])


def test_all_samples_are_the_empirical_covariance() -> None:
    X, y, _ = two_blobs()
    fitted = MCD(fraction=1.0, shrinkage=0).fit(X, y)
    sizes = np.bincount(y)
    by_class = [EmpiricalCovariance().fit(X[y == k]) for k in (0, 1)]
    average = sum(n * estimate.covariance_ for n, estimate in zip(sizes, by_class, strict=True)) / sizes.sum()
    np.testing.assert_allclose(fitted.covariance_, average)
    tied = EmpiricalCovariance(assume_centered=True).fit(pooled(X, y))
    scores = fitted.score_samples(X, y)
    for k in (0, 1):
        of_class = X[y == k]
        np.testing.assert_allclose(fitted.means_[k], of_class.mean(axis=0))
        np.testing.assert_allclose(scores[y == k], -0.5 * tied.mahalanobis(of_class - of_class.mean(axis=0)))


def test_the_first_samples_are_a_random_share_of_each_class() -> None:
    X, y, _ = two_blobs()
    keys = _random_keys(X, 0)
    chosen = np.concatenate(
        [np.flatnonzero(y == k)[np.argsort(-keys[y == k])[: int(0.7 * (y == k).sum())]] for k in (0, 1)]
    )
    fitted, subset = MCD(shrinkage=0).fit(X, y), MCD(fraction=1.0, shrinkage=0).fit(X[chosen], y[chosen])
    np.testing.assert_allclose(fitted.means_, subset.means_)
    np.testing.assert_allclose(fitted.covariance_, subset.covariance_)
    assert len(np.unique(keys)) == len(keys)
    assert abs(np.mean(keys < np.median(keys[::2])) - 0.5) < 0.1
    assert np.abs(MCD(random_state=1).fit(X, y).means_ - fitted.means_).max() > 1e-3


def test_the_best_share_of_each_class_is_kept() -> None:
    X, y, _ = two_blobs()
    verdict = MCD().judge(X, y)
    for k in (0, 1):
        of_class = y == k
        kept = of_class & ~verdict.flagged
        assert abs(kept.sum() - 0.7 * of_class.sum()) <= 1
        assert verdict.score[kept].min() >= verdict.score[of_class & verdict.flagged].max()


def test_a_further_step_starts_from_what_was_kept() -> None:
    X, y, wrong = two_blobs()
    fitted = MCD().fit(X, y)
    kept = ~fitted.judge(X, y).flagged
    two, subset = MCD(steps=2).fit(X, y), MCD(fraction=1.0).fit(X[kept], y[kept])
    assert np.abs(two.means_ - subset.means_).max() < 0.1  # but for the rounding of 70 % to whole samples
    assert wrong[~MCD(steps=3).judge(X, y).flagged].mean() <= wrong[kept].mean()


def test_a_mixture_finds_the_share_by_itself() -> None:
    X, y, wrong = two_blobs()
    flagged = MCD(cut="gaussian", steps=2).judge(X, y).flagged
    assert flagged[wrong].mean() > 0.9
    assert flagged[~wrong].mean() < 0.1


@pytest.mark.parametrize("shrinkage", [0.0, 0.5, None, 1.0])
def test_more_features_than_samples(shrinkage: float | None) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    X = rng.standard_normal((60, 300)) + 1.5 * truth[:, None]
    y = np.where(np.arange(60) < 6, 1 - truth, truth)
    fitted = MCD(shrinkage=shrinkage).fit(X, y)
    scores = fitted.score_samples(X, y)
    assert np.isfinite(scores).all()
    if shrinkage == 1:  # with less, those that the covariance comes from are all near
        assert scores[:6].max() < scores[6:].mean()
    if shrinkage is None:
        centred = pooled(X, y)
        expected = OAS(assume_centered=True).fit(centred).shrinkage_
        assert abs(MCD(fraction=1.0, shrinkage=None).fit(X, y).shrinkage_ - expected) < 0.1


def test_a_mask_says_whom_to_learn_from_and_suggestions_are_the_nearest_class() -> None:
    X, y = (np.asarray(array) for array in load_digits(return_X_y=True))
    noisy = np.where(np.arange(len(y)) % 5 == 0, (y + 3) % 10, y)
    right = noisy == y
    masked = MCD(fraction=1.0).fit(X, noisy, sample_weight=right)
    subset = MCD(fraction=1.0).fit(X[right], noisy[right])
    np.testing.assert_allclose(masked.means_, subset.means_)
    np.testing.assert_allclose(masked.covariance_, subset.covariance_, atol=1e-9)
    verdict = MCD(fraction=0.8).fit(X, noisy, sample_weight=right).judge(X, noisy)
    flagged_wrong = verdict.flagged & ~right
    assert flagged_wrong.sum() > 0.8 * (~right).sum()
    assert (verdict.suggested[flagged_wrong] == y[flagged_wrong]).mean() > 0.85


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fraction": 0.0}, "fraction must be above 0 and at most 1, got 0.0"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"shrinkage": 1.5}, "shrinkage must be between 0 and 1, got 1.5"),
    ],
)
def test_options(options: dict[str, Any], words: str) -> None:
    X, y, _ = two_blobs()
    with pytest.raises(InvalidOption, match=f"MCD: {words}"):
        MCD(**options).fit(X, y)
