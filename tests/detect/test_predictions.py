"""Predicted probabilities as evidence: alone, beside features, and for which methods."""

from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from sklearn.datasets import load_digits

from eigenclean import add_noise, detector, find_label_issues
from eigenclean.arrays import Array, Float64s
from eigenclean.detect import DETECTORS
from eigenclean.detect.baselines.head import LinearHead
from eigenclean.detect.judge.guards import FitFacts, cautions, seem_in_sample
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.judge.views.probabilities import Agreement
from eigenclean.errors import EigencleanWarning, InvalidData, InvalidOption, MissingEvidence

PIXELS, TRUTH = (np.asarray(array)[:900] for array in load_digits(return_X_y=True))
Y = add_noise(TRUTH, rate=0.15)
WRONG = Y != TRUTH
NAMES = np.array([f"digit {i}" for i in range(10)])


@pytest.fixture(scope="module")
def pred_probs() -> Float64s:
    """Out of sample, by a linear model."""
    return LinearHead.fit(PIXELS, Y, 10).probabilities(PIXELS)


def f1(flagged: Array) -> float:
    return float(2 * (flagged & WRONG).sum() / (flagged.sum() + WRONG.sum()))


class TestFindLabelIssues:
    def test_probabilities_alone(self, pred_probs: Float64s) -> None:
        issues = find_label_issues(Y, pred_probs=pred_probs)
        assert f1(issues) > 0.85
        expected = Judge(views="probabilities").judge(pred_probs, Y).flagged
        np.testing.assert_array_equal(issues, expected)

    def test_columns_by_name_in_any_order(self, pred_probs: Float64s) -> None:
        issues = find_label_issues(Y, pred_probs=pred_probs)
        frame = pd.DataFrame(pred_probs, columns=NAMES)[NAMES[::-1]]
        np.testing.assert_array_equal(find_label_issues(NAMES[Y], pred_probs=frame), issues)

    def test_features_and_probabilities(self, pred_probs: Float64s) -> None:
        both = find_label_issues(Y, PIXELS, pred_probs)
        assert f1(both) >= f1(find_label_issues(Y, pred_probs=pred_probs))
        linear = find_label_issues(Y, PIXELS, pred_probs, views="linear,probabilities")
        X = np.hstack([PIXELS, pred_probs])
        np.testing.assert_array_equal(linear, Judge(views="linear,probabilities").judge(X, Y).flagged)

    def test_a_class_that_no_label_has(self, pred_probs: Float64s) -> None:
        kept = Y != 3
        with pytest.warns(EigencleanWarning, match="1 column is left out, as no label has the class: 3"):
            issues = find_label_issues(Y[kept], pred_probs=pred_probs[kept])
        assert (issues & WRONG[kept]).sum() > 0.7 * WRONG[kept].sum()

    def test_probabilities_in_the_place_of_features(self, pred_probs: Float64s) -> None:
        with pytest.warns(EigencleanWarning, match="look like probabilities of the classes; .* pred_probs="):
            find_label_issues(Y, pred_probs, views="linear")

    def test_labels_alone_are_not_enough(self) -> None:
        with pytest.raises(MissingEvidence, match="judge needs features, but only labels were given"):
            find_label_issues(Y)
        with pytest.raises(InvalidData, match="one row for each of the 900 labels, got 899"):
            find_label_issues(Y, pred_probs=np.full((899, 10), 0.1))


class TestMethods:
    @pytest.mark.parametrize("name", ["small-loss", "aum", "cores2", "confident"])
    def test_methods_on_logits_take_their_logarithms(self, pred_probs: Float64s, name: str) -> None:
        issues = find_label_issues(Y, pred_probs=pred_probs, method=name)
        logits = np.log(np.maximum(pred_probs / pred_probs.sum(axis=1, keepdims=True), 1e-12))
        np.testing.assert_array_equal(issues, detector(name, head=None).judge(logits, Y).flagged)
        np.testing.assert_array_equal(issues, find_label_issues(Y, PIXELS, pred_probs, method=name))

    def test_confident_learning_is_that_of_cleanlab(self, pred_probs: Float64s) -> None:
        cleanlab = pytest.importorskip("cleanlab")
        theirs = cleanlab.filter.find_label_issues(Y, pred_probs, filter_by="prune_by_noise_rate", n_jobs=1)
        np.testing.assert_array_equal(find_label_issues(Y, pred_probs=pred_probs, method="confident"), theirs)

    @pytest.mark.parametrize("name", sorted(DETECTORS))
    def test_every_other_method_says_that_it_needs_features(self, pred_probs: Float64s, name: str) -> None:
        if detector(name).with_probabilities(False) is not None:
            return
        with pytest.raises(MissingEvidence, match=f"^{name} needs features, but only probabilities were given$"):
            find_label_issues(Y, pred_probs=pred_probs, method=name)
        with pytest.raises(InvalidOption, match=f"^{name} does not use predicted probabilities"):
            find_label_issues(Y, PIXELS, pred_probs, method=name)

    def test_views_that_are_named(self, pred_probs: Float64s) -> None:
        with pytest.raises(InvalidOption, match="views='linear' leaves the predicted probabilities out"):
            find_label_issues(Y, PIXELS, pred_probs, views="linear")
        with pytest.raises(MissingEvidence, match="judge needs features, but only probabilities were given"):
            find_label_issues(Y, pred_probs=pred_probs, views="linear,probabilities")


class TestJudge:
    def test_probabilities_of_new_rows_are_in_the_last_columns(self, pred_probs: Float64s) -> None:
        X = np.hstack([PIXELS, pred_probs])
        judge = Judge(views="linear,neighbours,probabilities").fit(X, Y)
        scores = judge.judge(X, Y).score
        np.testing.assert_allclose(judge.score_samples(X[:40], Y[:40]), scores[:40], rtol=1e-6)
        assert list(judge.view_weights_) == ["linear", "neighbours", "probabilities"]
        without = judge.score_samples(np.hstack([PIXELS, np.full_like(pred_probs, 0.1)])[:40], Y[:40])
        assert (np.abs(without - scores[:40]) > 1e-6).any() == (judge.view_weights_["probabilities"] > 0)

    def test_a_better_model_gets_the_weight(self) -> None:
        rng = np.random.default_rng(0)
        y = np.arange(600) % 3
        given = add_noise(y, rate=0.2)
        p = np.full((600, 3), 0.02)
        p[np.arange(600), y] = 0.96
        verdict = Judge(views="linear,probabilities").judge(np.hstack([rng.normal(size=(600, 4)), p]), given)
        # Whether labels are wrong or the model too sure cannot be told from labels alone; what it ranks can.
        assert verdict.p_clean[given != y].max() < verdict.p_clean[given == y].min()
        assert isinstance(verdict.made_by, dict)
        assert verdict.made_by["views"]["probabilities"] > 0.9

    def test_features_of_extreme_size_beside_probabilities(self, pred_probs: Float64s) -> None:
        judge = Judge(views="linear,probabilities")
        expected = judge.judge(np.hstack([PIXELS, pred_probs]), Y).flagged
        huge = judge.fit(np.hstack([PIXELS * 2.0**600, pred_probs]), Y)
        assert huge.feature_exponent_ != 0
        flagged = huge.judge(np.hstack([PIXELS * 2.0**600, pred_probs]), Y).flagged
        assert np.mean(flagged == expected) > 0.98  # scaled rows are in other folds

    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (np.ones((900, 10)), "a column for each of the 10 classes after those of the features, got 10"),
            (np.hstack([PIXELS, np.full((900, 10), 0.3)]), "the sum of each row must be 1"),
        ],
    )
    def test_bad_columns(self, X: Any, message: str) -> None:
        with pytest.raises(InvalidData, match=message):
            Judge(views="auto,probabilities").fit(X, Y)


class TestInSample:
    def test_a_model_that_has_seen_the_labels_is_suspected(self, pred_probs: Float64s) -> None:
        seen = 0.2 * np.random.default_rng(0).dirichlet(np.ones(10), 900)
        seen[np.arange(900), Y] += 0.8
        judge = Judge(views="probabilities").fit(seen, Y)
        assert any(
            "100.0 % of the rows: if the model was trained on these labels" in text for text in judge.cautions_
        )
        assert not any("trained" in text for text in Judge(views="probabilities").fit(pred_probs, Y).cautions_)

    @pytest.mark.parametrize(
        ("agreement", "suspected"),
        [
            (Agreement(1000, 0, 0.0), True),
            (Agreement(1000, 0, 80.0), True),
            (Agreement(1000, 4, 3.0), False),  # a good model on clean data
            (Agreement(1000, 60, 300.0), False),  # trees out of sample are not sure
            (Agreement(20, 0, 1.0), False),
        ],
    )
    def test_what_tells_it_from_a_good_model(self, agreement: Agreement, suspected: bool) -> None:
        assert seem_in_sample(agreement) is suspected
        facts = FitFacts(np.array([0, 1]), np.array([50, 50]), np.zeros(2), (0.0, 0.01), True, (), agreement)
        assert bool(cautions(facts)) is suspected

    def test_the_sentence_about_nothing_learned_names_the_probabilities(self) -> None:
        random = np.random.default_rng(0).dirichlet(np.ones(10), 900)
        with pytest.warns(EigencleanWarning, match="10 classes .* kept whole"):
            judge = Judge(views="probabilities").fit(random, Y)
        assert (
            "the probabilities do not predict the labels better than the sizes of the classes do" in judge.cautions_
        )
