"""Features of a network that was trained on the labels: FINE's eigenvectors judge where the views see no noise."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.neural_network import MLPClassifier

from eigenclean import add_noise, open_source
from eigenclean.arrays import Array, Bools
from eigenclean.detect import detector
from eigenclean.detect.judge import Judge
from eigenclean.detect.judge.in_sample import ALIGNMENT, LEADING, VIEWS, margin_slope, trusted_judgement
from eigenclean.errors import InvalidOption
from eigenclean.scale.stream import judge_stream
from eigenclean.verdict import Verdict


@cache
def memorised(epochs: int = 200) -> tuple[Array, Array, Bools]:
    """Hidden layer of a network trained with 40 % wrong labels; the labels, and which of them are wrong."""
    X, right = (np.asarray(array) for array in load_digits(return_X_y=True))
    labels = add_noise(right, "symmetric", rate=0.4)
    net = MLPClassifier((128,), learning_rate_init=3e-3, random_state=0)
    for _ in range(epochs):
        net.partial_fit(X / 16, labels, classes=np.arange(10))
    hidden = np.maximum(X / 16 @ net.coefs_[0] + net.intercepts_[0], 0)
    return hidden, labels, labels != right


def kept_f(verdict: Verdict, wrong: Bools) -> float:
    return float(f1_score(~wrong, ~verdict.flagged))


def with_unused_columns(X: Array) -> Array:
    """More columns than the judge uses: then there are no leading directions."""
    return np.hstack([X, np.zeros((len(X), 2000))])


@pytest.mark.slow
def test_leading_directions_see_noise_that_the_views_have_learned() -> None:
    X, labels, wrong = memorised()
    judge = Judge(in_sample=True)
    verdict = judge.judge(X, labels)
    assert list(judge.view_weights_) == ["leading directions"]
    kept = kept_f(verdict, wrong)
    for other in (Judge(), detector("fine"), detector("fine-relative")):
        assert kept > kept_f(other.judge(X, labels), wrong) + 0.02
    assert roc_auc_score(wrong, -verdict.score) > 0.99
    assert abs(verdict.noise_rate - wrong.mean()) < 0.02
    low, high = judge.noise_rate_range_
    assert low < wrong.mean() < high
    assert any("by heart" in sentence for sentence in judge.cautions_)
    rates = judge.transition_.diagonal()
    assert judge.transition_.sum(axis=1) == pytest.approx(np.ones(10)) and abs(rates.mean() - 0.64) < 0.03


def test_margins_decide_where_nothing_else_sees_the_noise() -> None:
    """Flags are those of class-relative FINE, with probabilities that say more than a flag."""
    X, labels, wrong = memorised()
    X = with_unused_columns(X)
    judge = Judge(in_sample=True, views="linear")
    verdict = judge.judge(X, labels)
    assert list(judge.view_weights_) == ["alignment"]
    relative = detector("fine-relative").judge(X, labels)
    np.testing.assert_array_equal(verdict.flagged, relative.flagged)
    np.testing.assert_array_equal(verdict.suggested[wrong], relative.suggested[wrong])
    assert abs(verdict.noise_rate - wrong.mean()) < 0.1
    low, high = judge.noise_rate_range_
    assert low < wrong.mean() < high and low <= verdict.noise_rate <= high
    rates = judge.transition_.diagonal()
    assert judge.transition_.sum(axis=1) == pytest.approx(np.ones(10)) and abs(rates.mean() - 0.64) < 0.1


@pytest.mark.parametrize("prepare", [np.asarray, with_unused_columns])
def test_new_rows_are_judged_like_the_fitted_ones(prepare: Callable[[Array], Array]) -> None:
    X, labels, _ = memorised()
    X = prepare(X)
    judge = Judge(in_sample=True, views="linear").fit(X, labels)
    fitted = Judge(in_sample=True, views="linear").judge(X, labels)
    some = np.arange(0, len(X), 7)
    again = judge.judge(X[some], labels[some])
    np.testing.assert_allclose(again.score, fitted.score[some], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(again.suggested, fitted.suggested[some])


@pytest.mark.parametrize("prepare", [np.asarray, with_unused_columns])
def test_streams_agree_with_memory(prepare: Callable[[Array], Array]) -> None:
    X, labels, _ = memorised()
    X = prepare(X)
    options = {"in_sample": True, "views": "linear"}
    streamed = judge_stream(open_source((X, labels)), detector("judge", **options)).verdict
    expected = detector("judge", **options).judge(X, labels)
    np.testing.assert_array_equal(streamed.flagged, expected.flagged)
    np.testing.assert_allclose(streamed.p_clean, expected.p_clean, atol=1e-6)


def test_views_that_see_the_noise_keep_their_verdict() -> None:
    X, labels, _ = memorised(epochs=10)
    plain, told = Judge(views="linear"), Judge(views="linear", in_sample=True)
    np.testing.assert_array_equal(told.judge(X, labels).p_clean, plain.judge(X, labels).p_clean)
    assert told.view_weights_ == plain.view_weights_ and len(told.cautions_) == len(plain.cautions_) + 1
    assert told.noise_rate_range_[0] <= plain.noise_rate_range_[0]


def test_it_is_about_features() -> None:
    with pytest.raises(InvalidOption, match="in_sample is about features"):
        Judge(in_sample=True, views="probabilities").fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("views", "leading", "trusted"),
    [
        (0.30, 0.31, VIEWS),
        (0.02, 0.03, VIEWS),  # a point of difference says nothing
        (0.20, 0.40, LEADING),
        (0.00, 0.05, ALIGNMENT),
        (0.00, 0.00, ALIGNMENT),
    ],
)
def test_the_judgement_that_sees_the_noise_is_trusted(views: float, leading: float, trusted: str) -> None:
    clearly_other, below_zero = (0.01, 0.1) if views == 0.02 else (0.2, 0.4)
    assert trusted_judgement(clearly_other, below_zero, views, leading) == trusted


def test_a_network_that_learned_right_labels_has_few_flags() -> None:
    """Its eigenvectors tell the classes apart less well than the views; that must not pass for noise."""
    X, y = (np.asarray(array) for array in load_digits(return_X_y=True))
    net = MLPClassifier((128,), learning_rate_init=3e-3, random_state=0)
    for _ in range(60):
        net.partial_fit(X / 16, y, classes=np.arange(10))
    hidden = np.maximum(X / 16 @ net.coefs_[0] + net.intercepts_[0], 0)
    assert Judge(in_sample=True, views="linear").judge(hidden, y).flagged.mean() < 0.01
    assert detector("fine-relative").judge(hidden, y).flagged.mean() > 0.02


def test_eigenvectors_that_fail_do_not_pass_for_noise() -> None:
    """Large columns without meaning make the first eigenvectors: their margins are little more than chance."""
    X, right = (np.asarray(array) for array in load_digits(return_X_y=True))
    X = np.hstack([X, 40 * np.random.default_rng(0).normal(size=(len(X), 5))])
    labels = add_noise(right, "symmetric", rate=0.2)
    wrong = labels != right
    judge = Judge(in_sample=True, views="linear")
    assert kept_f(judge.judge(X, labels), wrong) > 0.97 and list(judge.view_weights_) == ["linear"]
    assert kept_f(detector("fine-relative").judge(X, labels), wrong) < 0.6


def test_slope_of_margins() -> None:
    rng = np.random.default_rng(0)
    margins = np.concatenate([rng.normal(0.3, 0.1, 30_000), rng.normal(-0.1, 0.1, 10_000)])
    assert margin_slope(margins) == pytest.approx(40, rel=0.05)  # (0.3 + 0.1) / 0.1²
    for degenerate in (np.zeros(0), np.zeros(5), np.full(5, 0.2), np.full(5, -0.2), np.array([np.inf, 0.1])):
        assert np.isfinite(margin_slope(degenerate)) and margin_slope(degenerate) > 0
