"""Calibration of predicted probabilities: class by class, by the labels of other folds."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.judge.views import calibration
from eigenclean.detect.judge.views.base import centred
from eigenclean.detect.judge.views.calibration import ClassCalibration

N, K, FOLDS = 4000, 3, 5


def scores(n: int = N) -> tuple[Float64s, Ints, Ints]:
    """Log-scores that are right for some labels, those labels, and folds."""
    rng = np.random.default_rng(0)
    logits = 2 * rng.normal(size=(n, K))
    codes = (softmax(logits, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return log_softmax(logits, axis=1), np.minimum(codes, K - 1), rng.integers(0, FOLDS, n)


def distorted_scores(n: int = N) -> tuple[Float64s, Ints, Ints]:
    """The same by a model that is too sure of the first class, and thinks that the second is more frequent."""
    g, codes, folds = scores(n)
    return centred(g) * np.array([3.0, 1.0, 1.0]) + np.array([0.0, 0.7, 0.0]), codes, folds


def mean_loss(log_scores: Array, codes: Ints) -> float:
    return -float(log_softmax(log_scores, axis=1)[np.arange(len(codes)), codes].mean())


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_what_one_scale_for_all_classes_can_do_is_left_to_the_noise_model(scale: float) -> None:
    g, codes, folds = scores()
    fitted = ClassCalibration.fit(scale * centred(g), codes, folds, FOLDS)
    np.testing.assert_array_equal(fitted.scales, 1.0)
    np.testing.assert_array_equal(fitted.offsets, 0.0)


def test_a_model_that_is_too_sure_of_one_class_is_corrected() -> None:
    g, (distorted, codes, folds) = scores()[0], distorted_scores()
    calibrated = ClassCalibration.fit(distorted, codes, folds, FOLDS).apply(distorted, folds)
    assert mean_loss(distorted, codes) > mean_loss(g, codes) + 0.1
    assert mean_loss(calibrated, codes) < mean_loss(g, codes) + 0.01
    assert (np.abs(calibrated.mean(axis=1)) < 1e-5).all()


def test_scores_of_a_fold_do_not_depend_on_its_labels() -> None:
    g, codes, folds = distorted_scores(500)
    before = ClassCalibration.fit(g, codes, folds, FOLDS).apply(g, folds)
    changed = np.where((folds == 2) & (np.arange(500) % 4 == 0), (codes + 1) % K, codes)
    after = ClassCalibration.fit(g, changed, folds, FOLDS).apply(g, folds)
    np.testing.assert_array_equal(before[folds == 2], after[folds == 2])
    assert (before[folds != 2] != after[folds != 2]).any()


def test_rows_of_weight_zero_do_not_count_and_double_weight_counts_twice() -> None:
    g, codes, folds = distorted_scores(600)
    weight = np.where(np.arange(600) < 300, 0.0, 1.0)
    subset = ClassCalibration.fit(g[300:], codes[300:], folds[300:], FOLDS)
    assert (subset.scales != 1.0).all()
    np.testing.assert_allclose(
        ClassCalibration.fit(g, codes, folds, FOLDS, weight).scales, subset.scales, atol=1e-4
    )
    twice = ClassCalibration.fit(g, codes, folds, FOLDS, weight * 2)
    np.testing.assert_allclose(twice.scales, subset.scales, atol=1e-4)


@pytest.mark.parametrize("codes", [np.array([0, 1, 2]), np.array([0, 0, 0])])
def test_hardly_any_rows(codes: Ints) -> None:
    g = centred(np.log(np.full((3, K), 1 / K)))
    fitted = ClassCalibration.fit(g, codes, np.zeros(3, dtype=np.intp), FOLDS)
    assert np.isfinite(fitted.apply(g, np.zeros(3, dtype=np.intp))).all()
    np.testing.assert_array_equal(fitted.scales[0], 1.0)  # no other fold to learn from


def test_very_many_classes_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    g, codes, folds = distorted_scores(300)
    monkeypatch.setattr(calibration, "MAX_CLASSES", K - 1)
    fitted = ClassCalibration.fit(g, codes, folds, FOLDS)
    np.testing.assert_array_equal(fitted.scales, 1.0)


def test_overlap_that_a_model_is_too_sure_about_is_not_taken_for_noise() -> None:
    """Two of four classes cannot be told apart, and the model is sure of them all the same."""
    rng = np.random.default_rng(1)
    y = np.arange(1200) % 4
    logits = 9.0 * np.eye(4)[y] + rng.normal(size=(1200, 4))
    confused = y >= 2
    logits[confused, 2:] = 5.0 + 3.0 * rng.normal(size=(confused.sum(), 2)) + 1.5 * np.eye(2)[y[confused] - 2]
    verdict = Judge(views="probabilities").judge(softmax(logits, axis=1), y)
    assert verdict.flagged.mean() < 0.02
