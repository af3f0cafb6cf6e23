"""Features of a network that was trained on the labels: FINE's alignments judge where the views are blind."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.neural_network import MLPClassifier

from eigenclean import add_noise, open_source
from eigenclean.arrays import Array, Bools
from eigenclean.detect import detector
from eigenclean.detect.cuts.margin import MarginCut, MarginMixture
from eigenclean.detect.judge import Judge
from eigenclean.errors import InvalidOption
from eigenclean.scale.stream import judge_stream


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


@pytest.mark.slow
def test_on_memorised_labels_it_is_better_than_its_views_and_than_fine() -> None:
    X, labels, wrong = memorised()
    judge = Judge(in_sample=True)
    verdict = judge.judge(X, labels)
    assert list(judge.view_weights_) == ["alignment"]
    kept = f1_score(~wrong, ~verdict.flagged)
    for other in (Judge(), detector("fine"), detector("fine-relative")):
        assert kept > f1_score(~wrong, ~other.judge(X, labels).flagged)
    assert roc_auc_score(wrong, -verdict.score) > 0.97
    assert abs(verdict.noise_rate - wrong.mean()) < 0.06
    low, high = judge.noise_rate_range_
    assert low < wrong.mean() < high
    assert any("by heart" in sentence for sentence in judge.cautions_)
    rates = judge.transition_.diagonal()
    assert judge.transition_.sum(axis=1) == pytest.approx(np.ones(10)) and abs(rates.mean() - 0.64) < 0.08


def test_new_rows_are_judged_like_the_fitted_ones() -> None:
    X, labels, _ = memorised()
    judge = Judge(in_sample=True, views="linear").fit(X, labels)
    fitted = Judge(in_sample=True, views="linear").judge(X, labels)
    some = np.arange(0, len(X), 7)
    again = judge.judge(X[some], labels[some])
    np.testing.assert_allclose(again.score, fitted.score[some], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(again.suggested, fitted.suggested[some])


def test_streams_agree_with_memory() -> None:
    X, labels, _ = memorised()
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


class TestMarginCut:
    def test_clean_margins_are_kept(self) -> None:
        """Easy and hard samples, all of them nearer to the given class: a free mixture would split them."""
        rng = np.random.default_rng(0)
        margins = np.concatenate([rng.normal(0.55, 0.1, 1000), rng.normal(0.25, 0.1, 800)])
        cut = MarginCut().fit(margins, np.zeros(1800, dtype=int))
        assert len(cut.mixture_.weights) == 3
        assert (cut.p_clean(margins, np.zeros(1800, dtype=int)) <= 0.5).mean() < 0.01

    @pytest.mark.parametrize("rate", [0.1, 0.3, 0.6])
    def test_the_share_of_wrong_labels_is_found(self, rate: float) -> None:
        rng = np.random.default_rng(1)
        wrong = np.arange(4000) < 4000 * rate
        margins = np.where(wrong, rng.normal(-0.1, 0.12, 4000), rng.normal(0.35, 0.12, 4000))
        p_clean = MarginCut().fit(margins, np.zeros(4000, dtype=int)).p_clean(margins, np.zeros(4000, dtype=int))
        assert abs((1 - p_clean).mean() - rate) < 0.02
        assert f1_score(wrong, p_clean <= 0.5) > 0.93

    def test_log_odds_never_decrease(self) -> None:
        mixture = MarginMixture(np.array([0.3, 0.4, 0.3]), np.array([0.0, 0.2, 0.5]), np.array([0.3, 0.05, 0.02]))
        odds = mixture.log_odds(np.linspace(-2, 2, 1001))
        assert (np.diff(odds) > 0).all()

    def test_bad_options(self) -> None:
        with pytest.raises(InvalidOption, match="max_iter"):
            MarginCut(max_iter=0).fit(np.zeros(3), np.zeros(3, dtype=int))
        with pytest.raises(InvalidOption, match="highest_wrong"):
            MarginCut(highest_wrong=float("nan")).fit(np.zeros(3), np.zeros(3, dtype=int))
