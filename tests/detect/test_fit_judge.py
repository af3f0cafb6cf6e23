"""Fitting and judging in one call: the same verdict as in two, and samples are scored only once."""

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.datasets import load_wine

from eigenclean.detect import DETECTORS, Detector, detector
from eigenclean.detect.decisions import Decision
from eigenclean.noise import corrupt
from eigenclean.verdict import Verdict

X, Y = (np.asarray(array) for array in load_wine(return_X_y=True))
LABELS = corrupt(Y, "symmetric", 0.2, random_state=0).labels
IDS = np.array([f"wine-{number}" for number in range(len(Y))])


def assert_equal(a: Verdict, b: Verdict) -> None:
    for field in ("ids", "labels", "flagged", "suggested"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    np.testing.assert_allclose(a.score, b.score, rtol=1e-9)
    np.testing.assert_allclose(a.p_clean, b.p_clean, rtol=1e-6)
    assert a.made_by == b.made_by


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.filterwarnings("ignore::eigenclean.errors.EigencleanWarning")
def test_one_call_is_fit_and_then_judge(name: str) -> None:
    decision = Decision(budget=10)
    expected = detector(name).fit(X, LABELS).judge(X, LABELS, ids=IDS, decision=decision)
    assert_equal(detector(name).fit_judge(X, LABELS, ids=IDS, decision=decision), expected)


def test_weights_are_passed_on() -> None:
    weight = np.arange(len(Y)) % 2
    expected = detector("mcd").fit(X, LABELS, sample_weight=weight).judge(X, LABELS)
    assert_equal(detector("mcd").fit_judge(X, LABELS, sample_weight=weight), expected)


@pytest.mark.parametrize("name", ["judge", "knn"])
@pytest.mark.parametrize("call", [Detector.fit_judge, Detector.judge])
def test_an_unfitted_detector_scores_once(
    name: str, call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = detector(name)
    score = Mock(wraps=fresh._score)
    monkeypatch.setattr(fresh, "_score", score)
    call(fresh, X, LABELS)
    assert score.call_count <= 1
