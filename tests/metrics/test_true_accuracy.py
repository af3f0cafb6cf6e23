"""The accuracy of a classifier by labels that may be wrong: probabilities of its predictions, and coverage."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from eigenclean import add_noise, detector
from eigenclean.errors import InvalidData
from eigenclean.metrics import true_accuracy
from eigenclean.metrics.true_accuracy import right_probabilities
from eigenclean.verdict import Verdict


def verdict_of(given: Any, p_clean: Any, suggested: Any, confidence: Any, **facts: Any) -> Verdict:
    given, p_clean, suggested = np.asarray(given), np.asarray(p_clean, dtype=float), np.asarray(suggested)
    flagged = given != suggested
    return Verdict(
        np.arange(len(given)), given, p_clean, p_clean, flagged, suggested, np.asarray(confidence), facts
    )


def test_each_prediction_has_the_probability_of_its_class() -> None:
    verdict = verdict_of(
        ["a", "a", "a", "a", "a"], [0.9, 0.2, 0.2, 0.8, 0.1], ["a", "b", "b", "a", "b"], [0.9, 0.7, 0.7, 0.8, 0.9]
    )
    predicted = np.array(["a", "b", "c", "b", "a"])
    # Agreement; the suggestion; neither; no suggestion, so as often as for flagged labels; a flagged label.
    share = 0.7 / (0.8 + 0.8)
    expected = [0.9, 0.7, 0.0, share * 0.2, 0.1]
    np.testing.assert_allclose(right_probabilities(predicted, verdict), expected)
    accuracy = true_accuracy(predicted, verdict)
    assert accuracy.measured == 0.4 and accuracy.estimate == pytest.approx(np.mean(expected))
    assert 0 <= accuracy.low <= accuracy.estimate <= accuracy.high <= 1
    assert accuracy.as_dict()["interval"] == [accuracy.low, accuracy.high]


def test_labels_without_errors_change_nothing_but_the_width() -> None:
    rng = np.random.default_rng(0)
    given = rng.integers(0, 3, 400)
    predicted = np.where(rng.random(400) < 0.8, given, (given + 1) % 3)
    accuracy = true_accuracy(predicted, verdict_of(given, np.ones(400), given, np.ones(400)))
    assert accuracy.estimate == accuracy.measured
    assert accuracy.low < accuracy.measured < accuracy.high
    assert accuracy.high - accuracy.low < 0.08  # four hundred rows


def test_an_open_noise_rate_widens_the_interval_and_missing_predictions_are_refused() -> None:
    given = np.arange(100) % 2
    closed = verdict_of(given, np.full(100, 0.99), given, np.full(100, 0.99))
    left_open = verdict_of(given, np.full(100, 0.99), given, np.full(100, 0.99), noise_rate_range=[0.0, 0.4])
    assert true_accuracy(given, left_open).low == pytest.approx(0.6)
    assert true_accuracy(1 - given, left_open).high == pytest.approx(0.4)
    assert true_accuracy(given, closed).low > 0.9 and true_accuracy(1 - given, closed).high < 0.1
    with pytest.raises(InvalidData, match="a prediction for each of the 100 labels, got 99"):
        true_accuracy(given[1:], closed)


def simulate(seed: int, kind: str, rate: float) -> tuple[Any, float]:
    """A classifier that learned from noisy labels, measured by labels that are as noisy, and its true accuracy."""
    X, y = make_classification(
        1400, 20, n_informative=8, n_redundant=0, n_classes=4, n_clusters_per_class=1, random_state=seed
    )
    given = add_noise(y, kind, rate=rate, random_state=seed) if rate else y
    predicted = LogisticRegression(max_iter=300).fit(X[:900], given[:900]).predict(X[900:])
    verdict = detector("judge", n_repeats=1).judge(X[900:], given[900:])
    return true_accuracy(predicted, verdict), float(np.mean(predicted == y[900:]))


@pytest.mark.slow
def test_intervals_hold_the_true_accuracy_in_simulations() -> None:
    settings = [("symmetric", 0.0), ("symmetric", 0.2), ("symmetric", 0.4), ("pair", 0.3)]
    held = []
    for seed in range(6):
        for kind, rate in settings:
            accuracy, truth = simulate(seed, kind, rate)
            held.append(accuracy.low <= truth <= accuracy.high)
    assert np.mean(held) >= 0.85
