"""AUM: its rule, run by run, in slow loops."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenclean.detect.baselines.aum import AUM, _threshold
from eigenclean.detect.baselines.head import LinearHead, margins
from eigenclean.metrics import score_verdict
from eigenclean.noise import corrupt

X, Y = (np.asarray(array) for array in load_digits(return_X_y=True))
NOISY = corrupt(Y, "symmetric", 0.2, random_state=1)


@pytest.mark.parametrize("n", [1, 7, 99, 100, 101, 250])
def test_the_threshold_leaves_one_per_cent_above(n: int) -> None:
    rng = np.random.default_rng(n)
    planted = rng.standard_normal(n)
    for margin in np.concatenate([rng.standard_normal(200), planted + 1e-9, planted - 1e-9]):
        doubted = sum(other > margin for other in planted) > 0.01 * n
        assert (margin < _threshold(planted)) == doubted


def test_flags_are_the_rule() -> None:
    detector = AUM().fit(X, NOISY.labels)
    keys = detector._keys(X)
    ordered = np.argsort(keys)
    size = len(X) // 10
    doubted = np.ones(len(X), dtype=bool)
    assert detector._head is not None
    for run in range(2):
        chosen = ordered[run * size : (run + 1) * size]
        planted = NOISY.labels.copy()
        planted[chosen] = 10
        logits = LinearHead.fit(X, planted, 11, shrinkages=[detector._head.shrinkage]).logits(X)
        of_threshold = margins(logits, planted)[chosen]
        others = np.setdiff1d(np.arange(len(X)), chosen)
        row_margins = margins(logits, NOISY.labels)
        for i in others:
            doubted[i] &= np.sum(of_threshold > row_margins[i]) > 0.01 * size
        assert detector.thresholds_[run] == pytest.approx(np.sort(of_threshold)[-1 - size // 100])
    np.testing.assert_array_equal(detector.judge(X, NOISY.labels).flagged, doubted)


def test_threshold_samples_are_random_and_disjoint() -> None:
    detector = AUM().fit(X, NOISY.labels)
    keys = detector._keys(X)
    first, second = (run.relabelled(keys) for run in detector._runs)
    assert first.sum() == second.sum() == len(X) // 10
    assert not (first & second).any()
    share = np.bincount(Y[first | second], minlength=10) / np.bincount(Y)
    assert abs(share - 0.2).max() < 0.12
    other = AUM(random_state=1).fit(X, NOISY.labels)
    assert 0 < np.sum(other._runs[0].relabelled(other._keys(X)) & first) < 0.5 * first.sum()


def test_only_samples_with_weight_are_planted() -> None:
    clean = NOISY.labels == Y
    detector = AUM().fit(X, NOISY.labels, sample_weight=clean)
    keys = detector._keys(X)
    assert [int((run.relabelled(keys) & clean).sum()) for run in detector._runs] == [int(clean.sum()) // 10] * 2


def test_given_logits_are_cut_at_a_margin_of_zero() -> None:
    logits = np.random.default_rng(0).standard_normal((200, 4))
    y = np.arange(200) % 4
    verdict = AUM(head=None).judge(logits, y)
    np.testing.assert_allclose(verdict.score, margins(logits, y))
    np.testing.assert_array_equal(verdict.flagged, logits.argmax(axis=1) != y)


def test_two_classes() -> None:
    two = Y < 2
    y = np.where(np.arange(two.sum()) % 10 == 0, 1 - Y[two], Y[two])
    verdict = AUM().judge(X[two], y)
    assert verdict.flagged[::10].mean() > 0.9
    assert verdict.flagged.mean() < 0.3


def test_digits() -> None:
    quality = score_verdict(AUM().judge(X, NOISY.labels), NOISY.truth)
    assert quality.f > 0.95
    assert quality.auroc is not None and quality.auroc > 0.99
