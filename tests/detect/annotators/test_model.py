"""The noise model of annotators: simulated crowds with known truth, and a slow E-step."""

import numpy as np
import pytest

from eigenclean.detect.annotators.model import AnnotatorModel, probability
from eigenclean.detect.annotators.quality import AnnotatorQuality
from eigenclean.detect.annotators.transitions import MAX_ENTRIES, fit_transitions
from eigenclean.evidence import Annotations
from tests.detect.annotators.conftest import Crowd, simulate


@pytest.fixture(scope="module")
def model(crowd: Crowd) -> AnnotatorModel:
    return AnnotatorModel.fit(crowd.annotations)


def test_better_than_the_majority_though_three_are_careless(crowd: Crowd, model: AnnotatorModel) -> None:
    majority = np.mean(crowd.annotations.majority_codes == crowd.truth)
    consensus = np.mean(model.posterior.argmax(axis=1) == crowd.truth)
    assert consensus > majority + 0.05


def test_confidence_is_calibrated(crowd: Crowd, model: AnnotatorModel) -> None:
    posterior = model.posterior
    right = posterior.argmax(axis=1) == crowd.truth
    assert abs(posterior.max(axis=1).mean() - right.mean()) < 0.02


def test_careless_annotators_are_found(crowd: Crowd, model: AnnotatorModel) -> None:
    quality = AnnotatorQuality.of(model)
    given = crowd.annotations
    right = crowd.truth[given.rows] == given.codes
    actual = np.bincount(given.annotators, right) / given.per_annotator
    assert set(np.argsort(quality.quality)[:3]) == {0, 1, 2}
    np.testing.assert_allclose(quality.quality, actual, atol=0.05)
    held = (quality.low <= np.einsum("aii->ai", crowd.transitions).mean(axis=1)) & (
        quality.high >= np.einsum("aii->ai", crowd.transitions).mean(axis=1)
    )
    assert held.sum() >= 9  # of 12 intervals at 90 %
    assert [row["annotator"] for row in quality.records(2)] == ["1", quality.records()[1]["annotator"]]


def test_confusions_are_the_typical_ones(model: AnnotatorModel) -> None:
    pairs = AnnotatorQuality.of(model).confusions(1)
    assert {(pair["right"], pair["given"]) for pair in pairs} <= {(0, 1), (1, 2), (2, 3), (3, 0)}


def test_the_posterior_is_that_of_a_slow_loop(crowd: Crowd) -> None:
    given = crowd.annotations
    prior = np.random.default_rng(0).dirichlet(np.ones(4), given.n_rows)
    model = AnnotatorModel.fit(given, prior)
    for row in (0, 7, 99):
        joint = prior[row] + 1e-6
        for annotator, code in zip(
            given.annotators[given.rows == row], given.codes[given.rows == row], strict=True
        ):
            joint = joint * model.transitions[annotator, :, code]
        np.testing.assert_allclose(model.posterior[row], joint / joint.sum(), rtol=1e-6)
        code = int(given.majority_codes[row])
        odds = model.log_odds(given.majority_codes)[row]
        assert probability(odds) == pytest.approx(model.posterior[row, code])
        best, share = model.suggest(given.majority_codes, np.array([row]))
        others = np.delete(np.arange(4), code)
        assert best[0] == others[model.posterior[row, others].argmax()]
        assert share[0] == pytest.approx(model.posterior[row, best[0]] / (1 - model.posterior[row, code]))


def test_few_labels_do_not_make_an_annotator_perfect_or_hopeless() -> None:
    counts = np.stack([np.diag([400.0, 400.0]) + 50, np.diag([400.0, 400.0]) + 60, np.diag([2.0, 2.0])])
    transitions, _ = fit_transitions(counts)
    np.testing.assert_allclose(transitions.sum(axis=2), 1.0)
    np.testing.assert_allclose(transitions[2], transitions[:2].mean(axis=0), atol=0.02)


def test_annotators_who_differ_keep_their_own_rates() -> None:
    good, bad = np.diag([500.0, 500.0]) + 5, np.diag([100.0, 100.0]) + 400
    transitions, strengths = fit_transitions(np.stack([good, bad] * 3))
    np.testing.assert_allclose(transitions[0, 0, 0], 505 / 510, atol=0.01)
    np.testing.assert_allclose(transitions[1, 0, 0], 500 / 900, atol=0.01)
    assert strengths.annotators <= 10


def test_very_many_classes_share_their_confusions(monkeypatch: pytest.MonkeyPatch, crowd: Crowd) -> None:
    module = "eigenclean.detect.annotators.transitions.MAX_ENTRIES"
    assert crowd.transitions.size < MAX_ENTRIES
    monkeypatch.setattr(module, 10)
    model = AnnotatorModel.fit(crowd.annotations)
    assert np.mean(model.posterior.argmax(axis=1) == crowd.truth) > 0.7


def test_two_annotators_of_two_classes() -> None:
    transitions = np.array([[[0.9, 0.1], [0.1, 0.9]]] * 2)
    crowd = simulate(200, transitions, most=2)
    model = AnnotatorModel.fit(crowd.annotations)
    assert np.isfinite(model.log_joint).all()
    assert np.mean(model.posterior.argmax(axis=1) == crowd.truth) > 0.85


def test_a_label_that_nobody_else_gave_can_win() -> None:
    table = np.array([[0, 0], [1, 1], [0, 0], [1, 1], [2, 0]] * 4)
    prior = np.repeat(np.array([[0.9, 0.05, 0.05]]), 20, axis=0)
    prior[1::5] = prior[3::5] = [0.05, 0.9, 0.05]
    prior[4::5] = [0.01, 0.01, 0.98]
    model = AnnotatorModel.fit(Annotations.from_matrix(table), prior)
    assert (model.posterior.argmax(axis=1)[4::5] == 2).all()
