"""SimiFeat against a slow loop written from the paper's description."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import cosine_distances

from eigenclean.arrays import Array, Bools
from eigenclean.detect.baselines.simifeat import SimiFeat
from eigenclean.errors import InvalidOption


def noisy_digits(rate: float = 0.3, n: int = 1000) -> tuple[Array, Array, Array, Bools]:
    X, truth = (np.asarray(array)[:n] for array in load_digits(return_X_y=True))
    rng = np.random.default_rng(0)
    wrong = rng.random(n) < rate
    return X, np.where(wrong, (truth + rng.integers(1, 10, n)) % 10, truth), truth, wrong


def slow_q(X: Array, y: Array, k: int) -> Array:
    table = cosine_distances(X)
    np.fill_diagonal(table, -1.0)  # the sample itself comes first
    q = np.zeros((len(X), 10))
    for i in range(len(X)):
        near = np.argsort(table[i])[:k]
        distance = table[i, near]
        distance[0] = 2 * distance[1] - distance[2]
        for j, d in zip(near, distance, strict=True):
            q[i, y[j]] += 1 - d
    return np.asarray(q / np.linalg.norm(q, axis=1, keepdims=True))


def test_vote() -> None:
    X, y, _, _ = noisy_digits()
    q = slow_q(X, y, 10)
    verdict = SimiFeat(mode="vote").judge(X, y)
    np.testing.assert_array_equal(verdict.flagged, q.argmax(axis=1) != y)
    others = q.copy()
    others[np.arange(len(y)), y] = 0
    np.testing.assert_allclose(verdict.score, q[np.arange(len(y)), y] - others.max(axis=1), atol=1e-5)
    flagged = verdict.flagged
    assert (verdict.suggested[flagged] == others.argmax(axis=1)[flagged]).mean() > 0.99


def test_rank() -> None:
    X, y, _, wrong = noisy_digits()
    given_share = slow_q(X, y, 10)[np.arange(len(y)), y]
    fitted = SimiFeat().fit(X, y)
    verdict = fitted.judge(X, y)
    np.testing.assert_allclose(verdict.score, np.log(given_share + 1e-8), atol=1e-5)
    given = np.bincount(y) / len(y)
    expected = 1 - np.diag(fitted.noise_.transition) * fitted.noise_.prior / given
    np.testing.assert_allclose(fitted.flag_shares_, np.clip(expected, 0.05, 0.95), atol=0.05)
    for k in range(10):
        assert abs(verdict.flagged[y == k].mean() - fitted.flag_shares_[k]) <= 1 / (y == k).sum()
    assert abs(np.diag(fitted.noise_.transition).mean() - 0.7) < 0.06
    assert abs(verdict.flagged.mean() - wrong.mean()) < 0.05
    assert verdict.flagged[wrong].mean() > 0.85


def test_clean_labels_are_flagged_at_the_least_share_or_less() -> None:
    X, y, _, _ = noisy_digits(0.0)
    assert SimiFeat().judge(X, y).flagged.mean() < 0.06
    assert SimiFeat(mode="vote").judge(X, y).flagged.mean() < 0.03


def test_unanimous_neighbourhoods_are_not_flagged_together() -> None:
    X, y, _, _ = noisy_digits(0.05)
    scores = SimiFeat().fit(X, y).score_samples(X, y)
    assert len(np.unique(scores)) > 0.98 * len(y)


def test_suggestions_and_new_samples() -> None:
    X, y, truth, wrong = noisy_digits()
    fitted = SimiFeat().fit(X[:700], y[:700])
    verdict = fitted.judge(X[700:], y[700:])
    assert verdict.flagged[wrong[700:]].mean() > 0.8
    flagged_wrong = verdict.flagged & wrong[700:]
    assert (verdict.suggested[flagged_wrong] == truth[700:][flagged_wrong]).mean() > 0.85


def test_a_wrong_mode() -> None:
    X, y, _, _ = noisy_digits()
    with pytest.raises(InvalidOption, match="SimiFeat: mode must be one of rank, vote, got 'vot'"):
        SimiFeat(mode="vot").fit(X, y)  # type: ignore[arg-type]
