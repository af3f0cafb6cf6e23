"""Calibration against a slow loop and against scikit-learn."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from eigenclean.errors import InvalidData, InvalidOption, TooFewSamples
from eigenclean.metrics import expected_calibration_error, reliability_curve

rows = st.lists(
    st.tuples(st.one_of(st.floats(0, 1), st.integers(0, 20).map(lambda i: i / 20)), st.booleans()), min_size=1
)


@given(rows=rows, bins=st.integers(1, 12))
def test_the_curve_is_that_of_a_slow_loop(rows: list[tuple[float, bool]], bins: int) -> None:
    curve = reliability_curve([p for p, _ in rows], [came for _, came in rows], bins)
    edges = np.linspace(0, 1, bins + 1)
    error = 0.0
    for k in range(bins):
        inside = [
            (p, came) for p, came in rows if (p > edges[k] or k == 0) and (p <= edges[k + 1] or k == bins - 1)
        ]
        assert curve.count[k] == len(inside)
        if not inside:
            assert np.isnan(curve.mean_predicted[k])
            assert np.isnan(curve.observed[k])
            continue
        predicted, observed = np.mean(inside, axis=0)
        assert curve.mean_predicted[k] == pytest.approx(predicted)
        assert curve.observed[k] == pytest.approx(observed)
        error += len(inside) / len(rows) * abs(predicted - observed)
    assert curve.expected_error == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("bins", [1, 5, 10, 33])
def test_the_curve_is_that_of_scikit_learn(bins: int) -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.4, 0.4, 500).round(2)
    outcome = rng.random(500) < p**2
    observed, predicted = calibration_curve(outcome, p, n_bins=bins)
    curve = reliability_curve(p, outcome, bins)
    np.testing.assert_allclose(curve.observed[curve.count > 0], observed)
    np.testing.assert_allclose(curve.mean_predicted[curve.count > 0], predicted)


def test_known_answers() -> None:
    assert expected_calibration_error([0.0, 1.0, 1.0], [False, True, True]) == 0
    assert expected_calibration_error([0.0, 1.0], [True, False]) == 1
    assert expected_calibration_error([0.75] * 4, [True, True, True, False]) == pytest.approx(0)
    assert expected_calibration_error(np.full(8, 0.9, dtype=np.float32), [1, 0] * 4) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("p", "outcome", "bins", "error", "message"),
    [
        ([], [], 10, TooFewSamples, "there are no rows"),
        ([0.5], [True, False], 10, InvalidData, "outcome must have one value for each of 1 rows"),
        ([1.5], [True], 10, InvalidData, "p must be within 0 and 1, got 1.5 in row 0"),
        ([0.5, np.nan], [True, True], 10, InvalidData, "p must be within 0 and 1, got nan in row 1"),
        (["high"], [True], 10, InvalidData, "p must be one number per row"),
        ([0.5], [2], 10, InvalidData, "outcome must be true or false"),
        ([0.5], [True], 0, InvalidOption, "bins must be an integer from 1, got 0"),
        ([0.5], [True], 2.5, InvalidOption, "bins must be an integer from 1, got 2.5"),
    ],
)
def test_what_cannot_be_measured_is_explained(
    p: Any, outcome: Any, bins: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        reliability_curve(p, outcome, bins)
