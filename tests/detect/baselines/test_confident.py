"""Confident learning: cleanlab's flags, exactly."""

import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits

from eigenclean.detect.baselines.confident import ConfidentLearning
from eigenclean.detect.baselines.head import LinearHead
from eigenclean.errors import MissingExtra
from eigenclean.metrics import score_verdict
from eigenclean.noise import corrupt

cleanlab: Any = import_module("cleanlab")
X, Y = (np.asarray(array) for array in load_digits(return_X_y=True))


@pytest.mark.parametrize(("kind", "rate"), [("symmetric", 0.2), ("symmetric", 0.8), ("pair", 0.4)])
def test_flags_and_quality_are_those_of_cleanlab(kind: str, rate: float) -> None:
    y = corrupt(Y, kind, rate, random_state=1).labels
    verdict = ConfidentLearning().judge(X, y)
    p = LinearHead.fit(X, y, 10).probabilities(X)
    np.testing.assert_array_equal(verdict.flagged, cleanlab.filter.find_label_issues(y, p, n_jobs=1))
    quality = cleanlab.rank.get_label_quality_scores(y, p)
    np.testing.assert_allclose(verdict.score + 2 * verdict.flagged, quality, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_flags_of_any_probabilities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    y = np.concatenate([np.arange(k).repeat(5), rng.integers(0, k, 300)])
    logits = rng.standard_normal((len(y), k)) * rng.uniform(0.2, 3)
    logits[np.arange(len(y)), y] += rng.uniform(0, 3)
    flags = cleanlab.filter.find_label_issues(y, softmax(logits, axis=1), n_jobs=1)
    detector = ConfidentLearning(head=None).fit(logits, y)
    np.testing.assert_array_equal(detector.judge(logits, y).flagged, flags)
    half = slice(0, None, 2)  # the rule holds for each sample alone
    np.testing.assert_array_equal(detector.judge(logits[half], y[half]).flagged, flags[half])


def test_copies_share_a_fate() -> None:
    logits = np.repeat(np.array([[2.0, 0.0], [0.0, 2.0]]), 30, axis=0)
    y = np.repeat([0, 1], 30)
    y[:3] = 1
    logits[3:] += np.random.default_rng(0).uniform(-0.1, 0.1, (57, 2))
    verdict = ConfidentLearning(head=None).judge(logits, y)
    assert len(set(verdict.flagged[:3].tolist())) == 1
    assert not verdict.flagged[3:].any()


def test_rows_it_has_not_seen() -> None:
    noisy = corrupt(Y, "symmetric", 0.2, random_state=0)
    verdict = ConfidentLearning().fit(X[:1200], noisy.labels[:1200]).judge(X[1200:], noisy.labels[1200:])
    wrong = noisy.labels[1200:] != Y[1200:]
    assert verdict.flagged[wrong].mean() > 0.75
    assert verdict.flagged[~wrong].mean() < 0.12  # the last digits are by other writers


def test_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cleanlab", None)
    with pytest.raises(
        MissingExtra, match=r"detector confident needs cleanlab.*pip install 'eigenclean\[cleanlab\]'"
    ):
        ConfidentLearning().fit(X, Y)


def test_digits() -> None:
    noisy = corrupt(Y, "symmetric", 0.2, random_state=1)
    quality = score_verdict(ConfidentLearning().judge(X, noisy.labels), noisy.truth)
    assert quality.f > 0.97
    assert quality.auroc is not None and quality.auroc > 0.99
