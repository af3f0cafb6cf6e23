"""Detection quality: known answers, scikit-learn, and the edges."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, roc_auc_score

from eigenclean.errors import InvalidData, TooFewSamples
from eigenclean.metrics import detection_quality

# 3 kept and clean, 1 kept and wrong, 2 flagged and clean, 4 flagged and wrong
FLAGGED = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1], dtype=bool)
CLEAN = np.array([1, 1, 1, 0, 1, 1, 0, 0, 0, 0], dtype=bool)
P = np.array([0.9, 0.9, 0.8, 0.7, 0.4, 0.4, 0.3, 0.2, 0.1, 0.0])


def test_known_answers() -> None:
    quality = detection_quality(FLAGGED, P, CLEAN)
    assert quality.precision == pytest.approx(3 / 4)
    assert quality.recall == pytest.approx(3 / 5)
    assert quality.f == pytest.approx(2 / 3)
    assert quality.specificity == pytest.approx(4 / 5)
    assert quality.accuracy == pytest.approx(7 / 10)
    assert quality.noisy_precision == pytest.approx(4 / 6)
    assert quality.noisy_recall == pytest.approx(4 / 5)
    assert quality.noisy_f == pytest.approx(8 / 11)
    assert quality.flagged_share == pytest.approx(0.6)
    assert quality.noise_rate == pytest.approx(0.5)
    assert quality.estimated_noise_rate == pytest.approx(0.53)
    assert quality.noise_rate_error == pytest.approx(0.03)
    assert quality.auroc == pytest.approx(23 / 25)
    assert quality.suggestion_accuracy is None


@given(rows=st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 10)), min_size=1, max_size=50))
def test_all_figures_agree_with_scikit_learn(rows: list[tuple[bool, bool, int]]) -> None:
    flagged, clean, tenths = np.array(rows).T
    flagged, clean, p = flagged == 1, clean == 1, tenths / 10
    quality = detection_quality(flagged, p, clean)
    for positive, expected in (
        (True, (quality.precision, quality.recall, quality.f)),
        (False, (quality.noisy_precision, quality.noisy_recall, quality.noisy_f)),
    ):
        figures = precision_recall_fscore_support(
            clean == positive, ~flagged == positive, average="binary", zero_division=0
        )
        assert expected == pytest.approx(figures[:3])
    if clean.any() and not clean.all():
        assert quality.auroc == pytest.approx(roc_auc_score(clean, p))
        assert quality.average_precision == pytest.approx(average_precision_score(~clean, -p))
    else:
        assert quality.auroc is None
    assert all(value is None or np.isfinite(value) for value in quality.as_dict().values())


def test_the_score_settles_ties_of_saturated_probabilities() -> None:
    p, clean, score = np.ones(4), np.array([True, True, False, False]), np.array([4.0, 3.0, 2.0, 1.0])
    assert detection_quality(p < 0, p, clean).auroc == 0.5
    assert detection_quality(p < 0, p, clean, score).auroc == 1.0
    assert detection_quality(p < 0, p, clean, score).average_precision == 1.0
    assert detection_quality(p < 0, p, clean, -score).auroc == 0.0


def test_the_probability_comes_before_the_score() -> None:
    p, clean = np.array([0.9, 0.1]), np.array([True, False])
    assert detection_quality(p < 0.5, p, clean, score=[0.0, 1.0]).auroc == 1.0


def test_clean_data_have_no_ranking_to_measure() -> None:
    quality = detection_quality(FLAGGED, P, np.ones(10, dtype=bool))
    assert quality.auroc is None
    assert quality.average_precision is None
    assert (quality.precision, quality.noisy_precision, quality.noisy_recall, quality.noisy_f) == (1, 0, 0, 0)


def test_a_share_of_nothing_is_zero() -> None:
    quality = detection_quality(np.ones(10, dtype=bool), P, np.zeros(10, dtype=bool))
    assert (quality.precision, quality.recall, quality.f) == (0, 0, 0)
    assert (quality.noisy_precision, quality.noisy_recall, quality.noisy_f) == (1, 1, 1)
    assert quality.average_precision == 1


def test_the_detector_may_bring_its_own_estimate() -> None:
    quality = detection_quality(FLAGGED, P, CLEAN, noise_rate=0.2)
    assert quality.estimated_noise_rate == 0.2
    assert quality.noise_rate_error == pytest.approx(-0.3)


def test_the_figures_are_json() -> None:
    quality = detection_quality(FLAGGED, P.astype(np.float32), CLEAN)
    record = json.loads(json.dumps(quality.as_dict(), allow_nan=False))
    assert record == quality.as_dict()
    assert list(record)[:3] == ["precision", "recall", "f"]


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"flagged": FLAGGED[1:]}, InvalidData, "flagged must have one value for each of 10 rows"),
        ({"is_clean": CLEAN[1:]}, InvalidData, "is_clean must have one value for each of 10 rows"),
        ({"is_clean": P}, InvalidData, "is_clean must be true or false"),
        ({"p_clean": P - 1}, InvalidData, "p_clean must be within 0 and 1"),
        ({"p_clean": []}, TooFewSamples, "there are no rows"),
        ({"score": P[1:]}, InvalidData, "score must be one number for each of 10 rows"),
        ({"score": np.full(10, np.nan)}, InvalidData, "score must not be NaN, but row 0 is"),
    ],
)
def test_what_cannot_be_measured_is_explained(changed: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        detection_quality(**{"flagged": FLAGGED, "p_clean": P, "is_clean": CLEAN, **changed})
