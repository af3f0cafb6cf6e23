"""k-NN against a slow loop, and where it draws the line."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import cosine_similarity

from eigenclean.arrays import Array, Bools
from eigenclean.detect import detector
from eigenclean.detect.baselines.knn import KNN


def noisy_digits(rate: float = 0.3, n: int = 600) -> tuple[Array, Array, Array, Bools]:
    X, truth = (np.asarray(array)[:n] for array in load_digits(return_X_y=True))
    rng = np.random.default_rng(0)
    wrong = rng.random(n) < rate
    return X, np.where(wrong, (truth + rng.integers(1, 10, n)) % 10, truth), truth, wrong


def slow_votes(X: Array, y: Array, k: int, i: int) -> Array:
    cosine = cosine_similarity(X[i : i + 1], X)[0]
    cosine[i] = -np.inf
    votes = np.zeros(10)
    for j in np.argsort(-cosine)[:k]:
        votes[y[j]] += cosine[j]
    return votes


@pytest.mark.parametrize("k", [1, 10])
def test_slow_loop(k: int) -> None:
    X, y, _, _ = noisy_digits()
    verdict = KNN(k=k).judge(X, y)
    shares = np.bincount(y) / len(y)
    for i in range(0, len(y), 7):
        votes = slow_votes(X, y, k, i)
        smooth = votes + 0.5 * shares
        given_vote, smooth[y[i]] = smooth[y[i]], 0
        np.testing.assert_allclose(verdict.score[i], given_vote / (given_vote + smooth.max()), rtol=1e-5)
        assert verdict.flagged[i] == (given_vote <= smooth.max())
        if verdict.flagged[i]:
            assert verdict.suggested[i] == smooth.argmax()


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5])
def test_the_line_holds_at_any_noise(rate: float) -> None:
    X, y, truth, wrong = noisy_digits(rate, n=1500)
    verdict = KNN().judge(X, y)
    assert verdict.flagged[~wrong].mean() < 0.1
    if rate:
        assert verdict.flagged[wrong].mean() > 0.9
        flagged_wrong = verdict.flagged & wrong
        assert (verdict.suggested[flagged_wrong] == truth[flagged_wrong]).mean() > 0.9


def test_few_ties() -> None:
    X, y, _, _ = noisy_digits()
    assert len(np.unique(KNN().judge(X, y).score)) > 0.99 * len(y)


def test_a_mask_says_who_votes() -> None:
    X, y, truth, wrong = noisy_digits(0.5)
    masked = KNN().fit(X, y, sample_weight=~wrong)
    verdict = masked.judge(X, y)
    assert (verdict.flagged == wrong).mean() > 0.95
    subset = KNN().fit(X[~wrong], y[~wrong])
    np.testing.assert_allclose(masked.score_samples(X, y), subset.score_samples(X, y))
    weighted = KNN().fit(X, y, sample_weight=np.where(wrong, 1e-9, 1.0)).score_samples(X, truth)
    assert weighted.mean() > KNN().fit(X, y).score_samples(X, truth).mean()


def test_another_cut() -> None:
    X, y, _, wrong = noisy_digits()
    flagged = detector("knn", cut="kmeans").judge(X, y).flagged
    assert flagged[wrong].mean() > 0.9
    assert flagged[~wrong].mean() < 0.1
