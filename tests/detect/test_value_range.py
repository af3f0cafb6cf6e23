"""Features of any magnitude give the verdict that they give at an ordinary one, without a numerical warning."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from eigenclean import detector, open_source
from eigenclean.arrays import Array
from eigenclean.detect import DETECTORS, Detector
from eigenclean.detect.blocks import split_rows
from eigenclean.detect.fine.fine import FINE
from eigenclean.detect.value_range import largest_magnitude, scale_to_range
from eigenclean.errors import EigencleanWarning, InvalidData, InvalidOption
from eigenclean.scale.stream import judge_stream

pytestmark = pytest.mark.filterwarnings("ignore::eigenclean.errors.EigencleanWarning")
BLOCK_METHODS = ("judge", "fine", "fine-relative", "mcd")
SINGLE = [name for name in DETECTORS if name != "vote"]  # which asks the others


def make(name: str) -> Detector:
    """The detector; the judge with the views that streams have, and few rounds: so few samples make it take all."""
    return detector(name, rounds=3, views="linear,kernel") if name == "judge" else detector(name)


def samples(dtype: Any = np.float64, *, signed: bool = True, d: int = 6) -> tuple[Array, Array]:
    """Three classes with some wrong labels; the largest absolute value is 1, so that scaling gives it back."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    X = 2.0 * rng.standard_normal((3, d))[y] + rng.standard_normal((90, d))
    X = X if signed else np.abs(X)
    y[:9] = (y[:9] + 1) % 3
    return (X / np.abs(X).max()).astype(dtype), y


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("name", SINGLE)
def test_a_power_of_two_changes_no_verdict(name: str, signed: bool) -> None:
    kinds: tuple[tuple[Any, int], ...] = ((np.float64, 600), (np.float32, 100))
    for dtype, power in kinds:
        X, y = samples(dtype, signed=signed)
        expected = make(name).judge(X, y)
        for exponent in (-power, power):
            judge = make(name)
            verdict = judge.judge(np.ldexp(X, exponent), y)
            np.testing.assert_array_equal(verdict.flagged, expected.flagged)
            np.testing.assert_array_equal(verdict.p_clean, expected.p_clean)
            assert judge.feature_exponent_ == dict(verdict.made_by)["feature_exponent"] == exponent  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BLOCK_METHODS)
def test_streams_and_memory_agree_at_any_magnitude(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigenclean.detect.blocks.BLOCK_ROWS", 40)
    X, y = samples()
    # The first block is ordinary: that there is a larger one is found later in the pass.
    order = np.argsort(np.abs(X).max(axis=1), kind="stable")
    for power in (-600, 600):
        large, labels = np.ldexp(X[order], power), y[order]
        streamed = judge_stream(open_source((large, labels)), make(name))
        expected = make(name).judge(large, labels)
        np.testing.assert_array_equal(streamed.verdict.flagged, expected.flagged)
        np.testing.assert_allclose(streamed.verdict.p_clean, expected.p_clean, rtol=1e-5, atol=1e-7)  # other sums
        assert streamed.judge.feature_exponent_ == power
        again = judge_stream(open_source((large, labels)), streamed.judge)
        np.testing.assert_array_equal(again.verdict.flagged, expected.flagged)


def test_ordinary_features_take_no_pass_more_and_large_ones_two() -> None:
    X, y = samples()
    ordinary = judge_stream(open_source((X, y)), detector("fine")).engine["passes"]
    assert judge_stream(open_source((X * 1e200, y)), detector("fine")).engine["passes"] == ordinary + 2


def test_ordinary_features_are_the_same_array() -> None:
    kinds: tuple[tuple[Any, float], ...] = (
        (np.float64, 1e19),
        (np.float64, 0.0),
        (np.float32, 1e-12),
        (np.float16, 6e4),
        (np.int64, 2**62),
    )
    for dtype, value in kinds:
        X = np.full((3, 2), value, dtype)
        scaled, exponent = scale_to_range(X, by="test")
        assert scaled is X and exponent == 0
    assert largest_magnitude(np.zeros((0, 3))) == 1.0


@pytest.mark.parametrize("name", SINGLE)
def test_a_fitted_detector_scales_as_in_fit(name: str) -> None:
    X, y = samples()
    judge = make(name).fit(X * 2.0**600, y)
    np.testing.assert_array_equal(judge.score_samples(X * 2.0**600, y), make(name).fit(X, y).score_samples(X, y))
    with pytest.raises(InvalidData, match="far beyond those of fit"):
        make(name).fit(X, y).score_samples(X * 1e100, y)


def test_a_stream_far_beyond_fit_is_refused() -> None:
    X, y = samples()
    with pytest.raises(InvalidData, match="far beyond those of fit"):
        judge_stream(open_source((X * 1e100, y)), detector("mcd").fit(X, y))


def _column_of_subnormals(X: Array) -> Array:
    X[:, 0] *= 1e-320
    return X


def _all_subnormal(X: Array) -> Array:
    return X * 1e-315


def _rows_of_zeros(X: Array) -> Array:
    X[::3] = 0.0
    return X


def _constant_columns(X: Array) -> Array:
    X[:, ::2] = 1.0
    return X * 1e200


def _one_row_of_1e25(X: Array) -> Array:
    X[7] *= 1e25
    return X


def _all_equal(X: Array) -> Array:
    return np.full_like(X, 1e-250)


def _everything_zero(X: Array) -> Array:
    return np.zeros_like(X)


def _the_largest_numbers(X: Array) -> Array:
    return X * float(np.finfo(np.float64).max)


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize(
    "change",
    [
        _column_of_subnormals,
        _all_subnormal,
        _rows_of_zeros,
        _constant_columns,
        _one_row_of_1e25,
        _all_equal,
        _everything_zero,
        _the_largest_numbers,
    ],
)
def test_no_numerical_warning_and_finite_numbers(name: str, change: Callable[[Array], Array]) -> None:
    X, y = samples()
    verdict = make(name).judge(change(X), y)  # warnings are errors here
    assert np.isfinite(verdict.score).all() and ((verdict.p_clean >= 0) & (verdict.p_clean <= 1)).all()


@pytest.mark.parametrize("name", ["judge", "fine", "knn"])
def test_one_row_or_column_beyond_measure_is_named(name: str) -> None:
    X, y = samples()
    X[7] *= 1e250
    with pytest.raises(InvalidData, match=r"row 7 of the features has values up to .*e\+2.*correct, drop or scale"):
        make(name).fit(X, y)
    X, y = samples()
    X[:, 3] = 1e300
    with pytest.raises(InvalidData, match=r"column 3 of the features has values up to 1e\+300, and most columns"):
        make(name).fit(X, y)
    if name in BLOCK_METHODS:
        with pytest.raises(InvalidData, match="column 3 of the features"):
            judge_stream(open_source((X, y)), make(name))


def test_moments_of_scaled_features_are_not_added_to_others() -> None:
    X, y = samples()
    with pytest.raises(InvalidData, match="the features of this piece reach 1e-200"):
        FINE().partial_fit(X * 1e-200, y)
    scaled = FINE(keep_moments=True).fit(X * 1e-200, y)
    with pytest.raises(InvalidOption, match="merge needs sums of squares"):
        FINE().fit(X, y).merge(scaled)


def test_logits_are_not_scaled() -> None:
    X, y = samples(d=3)
    judge = detector("small-loss", head=None).fit(X * 1e30, y)
    assert judge.feature_exponent_ == 0


def test_blocks_are_given_scaled() -> None:
    X, y = samples()
    judge = detector("fine")
    judge.fit_blocks(split_rows(X, 40), split_rows(y, 40), np.arange(3), X.shape[1], exponent=600)  # type: ignore[attr-defined]
    np.testing.assert_allclose(
        judge.fit_cut_to_scores(detector("fine").fit(X, y).score_samples(X, y), y).score_samples(X * 2.0**600, y),
        detector("fine").fit(X, y).score_samples(X, y),
    )


def test_notes_are_the_only_warnings() -> None:
    X, y = samples()
    with pytest.warns(EigencleanWarning, match="kept whole"):
        detector("fine").fit(X, np.where(np.arange(len(y)) < 3, 7, y))
