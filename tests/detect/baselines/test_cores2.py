"""CORES² against a slow loop over its formula."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenclean.detect.baselines.cores2 import CORES2
from eigenclean.detect.baselines.head import LinearHead
from eigenclean.metrics import score_verdict
from eigenclean.noise import corrupt

X, Y = (np.asarray(array) for array in load_digits(return_X_y=True))
NOISY = corrupt(Y, "symmetric", 0.2, random_state=1)


def test_equals_the_formula() -> None:
    verdict = CORES2().judge(X, NOISY.labels)
    p = LinearHead.fit(X, NOISY.labels, 10).probabilities(X)
    for i, label in enumerate(NOISY.labels):
        sieve = -np.log(p[i, label]) - sum(-np.log(p[i, c] + 1e-8) for c in range(10)) / 10
        assert verdict.score[i] == pytest.approx(-sieve, rel=1e-6, abs=1e-6)
        assert verdict.flagged[i] == (sieve > 0)


def test_finite_where_probabilities_are_not_there() -> None:
    logits = np.array([[0.0, 2000.0, -2000.0], [2000.0, 0.0, 0.0]] * 20)
    logits[::3] /= 400  # not all alike
    verdict = CORES2(head=None).judge(logits, np.array([0, 0, 1, 2] * 10))
    assert np.isfinite(verdict.score).all()
    np.testing.assert_array_equal(verdict.flagged, [True, False, False, True] * 10)


def test_digits() -> None:
    quality = score_verdict(CORES2().judge(X, NOISY.labels), NOISY.truth)
    assert quality.f > 0.95
    assert quality.auroc is not None and quality.auroc > 0.99
