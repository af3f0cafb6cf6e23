"""What holds for every detector: one suite over the whole table, so a new line in it is tested at once.

Each check is a function of a fresh detector; a detector of one's own can be put through `check_detector`.
"""

import inspect
import json
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from eigenclean import Verdict
from eigenclean.arrays import Array, Bools
from eigenclean.detect import DETECTORS, Detector
from eigenclean.errors import EigencleanWarning, InvalidData, InvalidOption

digits = cache(load_digits)  # reading the file takes as long as many a check


def noisy_digits(rate: float = 0.3, n: int = 400) -> tuple[Array, Array, Bools]:
    """Features, given labels, and which labels are wrong; new arrays, which a check may change."""
    X, y = (np.array(values[:n]) for values in digits(return_X_y=True))
    rng = np.random.default_rng(0)
    wrong = rng.random(n) < rate
    return X, np.where(wrong, (y + rng.integers(1, 10, n)) % 10, y), wrong


def assert_same(a: Verdict, b: Verdict, *, tolerance: float = 1e-7, differing: float = 0.0) -> None:
    np.testing.assert_allclose(a.score, b.score, rtol=tolerance, atol=tolerance)
    assert np.mean(a.flagged != b.flagged) <= differing
    if not differing:
        np.testing.assert_allclose(a.p_clean, b.p_clean, atol=1e-5)
        np.testing.assert_array_equal(a.suggested, b.suggested)


def check_constructor_only_stores(detector: Detector) -> None:
    kind = type(detector)
    parameters = inspect.signature(kind).parameters
    odd = {name: object() for name in parameters}
    stored = kind(**odd)  # nonsense is not looked at before it is used
    assert all(getattr(stored, name) is value for name, value in odd.items())
    assert set(vars(stored)) == set(parameters)


def check_parameters_round_trip(detector: Detector) -> None:
    parameters = detector.get_params(deep=False)
    assert type(detector)(**parameters).get_params(deep=False) == parameters
    copy = clone(detector.set_params(threshold=0.25))
    assert copy is not detector
    assert copy.get_params(deep=False) == {**parameters, "threshold": 0.25}
    assert repr(copy) == f"{type(detector).__name__}(threshold=0.25)"


def check_fitting_does_not_change_parameters(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    before = dict(detector.get_params(deep=False))
    assert detector.fit(X, y) is detector
    assert detector.get_params(deep=False) == before
    np.testing.assert_array_equal(detector.classes_, np.unique(y))
    assert not hasattr(clone(detector), "classes_")


def check_inputs_unchanged(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    weight = np.linspace(0, 1, len(y))
    ids = np.arange(len(y))[::-1].copy()
    before = [array.tobytes() for array in (X, y, weight, ids)]
    for array in (X, y, weight, ids):
        array.setflags(write=False)
    detector.fit(X, y, weight).judge(X, y, ids)
    detector.score_samples(X, y)
    detector.p_clean(X, y)
    assert [array.tobytes() for array in (X, y, weight, ids)] == before


def check_random_state_untouched(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    np.random.seed(123)  # noqa: NPY002
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    detector.judge(X, y)
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    np.testing.assert_array_equal(before["state"]["key"], after["state"]["key"])
    assert before["state"]["pos"] == after["state"]["pos"]


def check_same_seed_same_result(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    a, b = clone(detector).judge(X, y), clone(detector).judge(X, y)
    for field in ("score", "p_clean", "flagged", "suggested", "suggested_confidence"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))


def check_judging_fits_what_is_not_fitted(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    assert_same(clone(detector).judge(X, y), clone(detector).fit(X, y).judge(X, y), tolerance=0)


def check_verdict_agrees_with_the_methods(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    detector.set_params(threshold=0.6).fit(X, y)
    verdict = detector.judge(X, y)
    np.testing.assert_array_equal(verdict.labels, y)
    np.testing.assert_array_equal(verdict.score, detector.score_samples(X, y))
    np.testing.assert_array_equal(verdict.p_clean, detector.p_clean(X, y))
    np.testing.assert_array_equal(verdict.flagged, verdict.p_clean <= 0.6)
    kept = ~verdict.flagged
    np.testing.assert_array_equal(verdict.suggested[kept], y[kept])
    np.testing.assert_array_equal(verdict.suggested_confidence[kept], verdict.p_clean[kept])
    assert (verdict.suggested[~kept] != y[~kept]).all()
    assert np.isin(verdict.suggested, detector.classes_).all()
    confidence = verdict.suggested_confidence
    assert ((confidence >= 0) & (confidence <= 1)).all()
    assert verdict.method == detector.name


def check_row_order(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    order = np.random.default_rng(1).permutation(len(y))
    a, b = clone(detector).judge(X, y), clone(detector).judge(X[order], y[order])
    np.testing.assert_allclose(b.score, a.score[order], rtol=1e-7)
    np.testing.assert_allclose(b.p_clean, a.p_clean[order], atol=1e-5)
    np.testing.assert_array_equal(b.suggested, a.suggested[order])


def check_labels_may_be_strings(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    names = np.array([f"digit {i}" for i in range(10)])
    a, b = clone(detector).judge(X, y), clone(detector).judge(X, names[y])
    np.testing.assert_allclose(b.p_clean, a.p_clean, atol=1e-9)
    np.testing.assert_array_equal(b.labels, names[y])
    np.testing.assert_array_equal(b.suggested, names[a.suggested])
    c = clone(detector).judge(X, y - 1000)
    np.testing.assert_array_equal(c.suggested, a.suggested - 1000)


def check_ranks_planted_noise(detector: Detector) -> None:
    X, y, wrong = noisy_digits()
    verdict = detector.judge(X, y)
    assert roc_auc_score(~wrong, verdict.score) > 0.8
    assert roc_auc_score(~wrong, verdict.p_clean) > 0.7
    assert verdict.p_clean[wrong].mean() < verdict.p_clean[~wrong].mean()


def check_probabilities(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    verdict = detector.judge(X, y)
    assert np.isfinite(verdict.score).all()
    assert ((verdict.p_clean >= 0) & (verdict.p_clean <= 1)).all()
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        by_score = own[np.argsort(verdict.score[own], kind="stable")]
        assert (np.diff(verdict.p_clean[by_score]) >= -1e-12).all(), f"not monotone in class {label}"


def check_layout(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    wide = np.zeros((2 * len(X), 2 * X.shape[1]))
    wide[::2, ::2] = X
    plain = clone(detector).judge(X, y)
    for other in (np.asfortranarray(X), wide[::2, ::2], X.astype(np.int16)):
        assert_same(clone(detector).judge(other, y), plain, tolerance=1e-7)


def check_single_precision(detector: Detector) -> None:
    X, y, _ = noisy_digits(n=1000)
    plain = clone(detector).judge(X, y)
    for dtype in (np.float32, np.float16):
        single = clone(detector).judge(X.astype(dtype), y)
        assert_same(single, plain, tolerance=1e-4, differing=0.005)


def check_small_classes_are_kept_whole(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    for size in (1, 2):
        more_X, more_y = np.vstack([X, X[:size]]), np.concatenate([y, np.full(size, 99)])
        with pytest.warns(EigencleanWarning, match="class 99 kept whole"):
            verdict = clone(detector).fit(more_X, more_y).judge(more_X, more_y)
        assert (verdict.p_clean[-size:] == 1).all()
        assert not verdict.flagged[-size:].any()


def check_constant_features_are_kept_whole(detector: Detector) -> None:
    X, y = np.tile(np.arange(1.0, 8.0), (60, 1)), np.arange(60) % 3
    for constant in (X, X.astype(np.float32), np.zeros_like(X)):
        with pytest.warns(EigencleanWarning, match=r"3 classes \(0, 1, 2\) kept whole"):
            verdict = clone(detector).fit(constant, y).judge(constant, y)
        assert np.isfinite(verdict.score).all()
        assert verdict.n_flagged == 0
        assert (verdict.p_clean == 1).all()


def check_weights_are_accepted(detector: Detector) -> None:
    X, y, wrong = noisy_digits()
    fitted = clone(detector).fit(X, y, sample_weight=~wrong)
    assert roc_auc_score(~wrong, fitted.score_samples(X, y)) > 0.8
    assert_same(clone(detector).fit(X, y, np.ones(len(y))).judge(X, y), clone(detector).judge(X, y))


def check_bad_input(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    holed = X.copy()
    holed[17, 3] = np.nan
    name = type(detector).__name__
    cases: list[tuple[Array, Array, str]] = [
        (holed, y, f"1 of {X.size} values is NaN or infinite, the first in row 17"),
        (X, y[:-1], f"got {len(X)} rows and {len(X) - 1} labels"),
        (X, np.zeros_like(y), "at least two classes"),
        (X.astype(str), y, "got text"),
        (X, np.where(y == 3, np.nan, y), "labels are missing"),
    ]
    for features, labels, words in cases:
        with pytest.raises(InvalidData, match=words) as error:
            clone(detector).fit(features, labels)
        assert str(error.value).startswith(f"{name}: ")
        assert "\n" not in str(error.value)
    for threshold in (-0.1, 1.1):
        with pytest.raises(InvalidOption, match=f"{name}: threshold must be between 0 and 1"):
            clone(detector).set_params(threshold=threshold).fit(X, y)
    with pytest.raises(InvalidData, match=f"{name}: ids must be unique"):
        clone(detector).judge(X, y, ids=np.zeros(len(y), dtype=int))


def check_verdict_can_be_saved(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    verdict = detector.judge(X, y)
    json.dumps(verdict.made_by, allow_nan=False)  # plain values only: no pickle anywhere


def check_no_other_warnings(detector: Detector) -> None:
    X, y, _ = noisy_digits()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detector.judge(X, y)


Check = Callable[[Detector], None]
CHECKS: dict[str, Check] = {
    name.removeprefix("check_"): check
    for name, check in list(globals().items())
    if name.startswith("check_") and inspect.isfunction(check) and check.__module__ == __name__
}


def check_detector(detector: Detector) -> None:
    """Every check, each on a fresh copy."""
    for check in CHECKS.values():
        check(clone(detector))


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Many tiny matrices: threads would only wait for each other."""
    with threadpool_limits(1):
        yield


# Left to `make test-all`: `vote`, which runs several of the others; and for the judge, which costs most and
# has many tests of its own, the checks that fit many times.
LONG_CHECKS = (
    "labels_may_be_strings",
    "layout",
    "same_seed_same_result",
    "single_precision",
    "weights_are_accepted",
)


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(
            name,
            check,
            marks=pytest.mark.slow if name == "vote" or (name == "judge" and check in LONG_CHECKS) else (),
            id=f"{check}-{name}",
        )
        for check in sorted(CHECKS)
        for name in sorted(DETECTORS)
    ],
)
def test_detector(name: str, check: str) -> None:
    CHECKS[check](DETECTORS[name]())


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_round_trip_through_the_disk(name: str, tmp_path: Path) -> None:
    X, y, _ = noisy_digits()
    verdict = DETECTORS[name]().judge(X, np.array(list("abcdefghij"))[y])
    verdict.save(tmp_path)
    loaded = Verdict.load(tmp_path)
    np.testing.assert_array_equal(loaded.p_clean, verdict.p_clean)
    np.testing.assert_array_equal(loaded.suggested, verdict.suggested)
    assert loaded.made_by == json.loads(json.dumps(verdict.made_by))


def test_every_detector_is_registered_under_its_name() -> None:
    assert len(CHECKS) >= 20
    for name, kind in DETECTORS.items():
        assert kind.name == name
        assert kind.__doc__
