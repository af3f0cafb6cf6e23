"""The table of detectors, and the mask for those who only want one."""

import json
from typing import Any

import numpy as np
import pytest

from eigenclean import FINE, detector, find_label_issues
from eigenclean.arrays import Array
from eigenclean.detect import DEFAULT, DETECTORS
from eigenclean.detect.base import plain_parameters
from eigenclean.detect.cuts import QuantileCut
from eigenclean.detect.registry import build_detector
from eigenclean.errors import InvalidOption, MissingEvidence


def blobs() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = 5 * np.eye(6)[y] + rng.standard_normal((300, 6))
    y[:30] = (y[:30] + 1) % 3
    return X, y


def test_names() -> None:
    for name, kind in DETECTORS.items():
        assert kind.name == name
        assert type(detector(name)) is kind
    assert type(detector()) is DETECTORS[DEFAULT]
    assert detector("fine", preset="paper", threshold=0.3).get_params()["threshold"] == 0.3


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("fin", {}, "got 'fin'; did you mean 'fine'"),
        ("xyzzy", {}, "name must be one of .*fine"),
        ("fine", {"treshold": 0.5}, "option must be one of .*, got 'treshold'; did you mean 'threshold'"),
    ],
)
def test_unknown_names(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidOption, match=words):
        detector(name, **options)


def test_find_label_issues() -> None:
    X, y = blobs()
    issues = find_label_issues(y, features=X)
    assert issues.dtype == np.bool_
    np.testing.assert_array_equal(issues, detector().judge(X, y).flagged)
    np.testing.assert_array_equal(issues[:30], True)
    strict = find_label_issues(y, X, method="fine", cut="quantile")
    assert strict.sum() == sum(np.ceil(0.2 * np.bincount(y)))
    with pytest.raises(MissingEvidence, match="needs features, but only labels were given"):
        find_label_issues(y)


def test_the_verdict_records_how_it_came_about() -> None:
    X, y = blobs()
    made_by = FINE(cut=QuantileCut(fraction=np.float64(0.1)), threshold=0.4).judge(X, y).made_by
    assert isinstance(made_by, dict)
    assert made_by["method"] == "fine"
    assert made_by["threshold"] == 0.4
    assert made_by["parameters"]["cut"] == {"name": "quantile", "fraction": 0.1}
    assert made_by["parameters"]["component"] == 1
    odd = FINE().set_params(threshold=np.float32(0.25), component=np.int64(2))  # numbers as NumPy gives them
    assert plain_parameters(odd)["component"] == 2
    json.dumps(odd.judge(X, y).made_by)
    assert plain_parameters(FINE())["cut"] == "gaussian"


def test_the_record_of_a_mixture_tells_where_it_cuts() -> None:
    X, y = blobs()
    verdict = FINE().judge(X, y)
    assert isinstance(verdict.made_by, dict)
    boundary = np.array(verdict.made_by["mixture"]["boundary"])
    np.testing.assert_array_equal(verdict.flagged, verdict.score < boundary[verdict.labels] - 1e-9)


def test_building_from_plain_values() -> None:
    built = build_detector("fine", {"cut": "quantile", "cut.fraction": 0.4, "threshold": 0.6}, seed=3)
    assert built.get_params(deep=False)["random_state"] == 3
    assert isinstance(built.cut, QuantileCut)
    assert built.cut.fraction == 0.4
    with pytest.raises(InvalidOption, match="fraction"):
        build_detector("fine", {"cut": "quantile", "cut.fractoin": 0.4})


@pytest.mark.parametrize("name", sorted(DETECTORS))
def test_a_detector_says_what_it_consumes(name: str) -> None:
    assert detector(name).consumes == "features"
    if "head" in detector(name).get_params():
        assert detector(name, head=None).consumes == "logits"
        with pytest.raises(MissingEvidence, match=f"{name} needs logits, but only labels were given"):
            find_label_issues(np.arange(4) % 2, method=name, head=None)
