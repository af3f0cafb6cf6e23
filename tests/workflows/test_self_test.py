"""The self-test measures what it says, on data whose answer is known."""

import json
import warnings
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.datasets import load_digits

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect import DETECTORS, FINE, Detector
from eigenclean.detect.cuts import Cut
from eigenclean.detect.decisions import Decision
from eigenclean.errors import EigencleanWarning, InvalidOption, MissingExtra, TooFewSamples
from eigenclean.workflows.self_test import CANDIDATES, LIMITS, candidate_names, choose, plant, self_test


class Oracle(Detector):
    """Knows the answer: column 0 is the right class, column 1 says whether it will see an error there."""

    name: ClassVar[str] = "oracle"

    def __init__(self, *, cut: str | Cut = "fixed", threshold: float = 0.5, noise: float = 0.0) -> None:
        self.cut = cut
        self.threshold = threshold
        self.noise = noise

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        return self._score(X, codes)

    def _score(self, X: Array, codes: Ints) -> Float64s:
        fits = self.classes_[codes] == X[:, 0]
        blur = self.noise * np.random.default_rng(0).random(len(X))
        return np.where(fits | (X[:, 1] == 0), 0.9, 0.1) + 1e-6 * np.arange(len(X)) / len(X) + blur

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        return np.searchsorted(self.classes_, X[rows, 0]), np.ones(len(rows))


def known(n: int = 1000, seen: float = 0.7, wrong: float = 0.0) -> tuple[Array, Array]:
    """Features that tell the right class and whether an error there is seen; labels with a share of real errors."""
    rng = np.random.default_rng(5)
    right = np.arange(n) % 4
    visible = rng.random(n) < seen
    labels = np.where(rng.random(n) < wrong, (right + 1) % 4, right)
    return np.column_stack([right, visible]).astype(np.float64), labels


def oracle() -> Oracle:
    from eigenclean.detect.cuts import FixedCut

    return Oracle(cut=FixedCut())


def test_planting_is_exact_and_seeded() -> None:
    labels = np.array(["cat", "dog", "elk"])[np.arange(200) % 3]
    planted = plant(labels, 0.1, seed=1)
    assert planted.wrong.sum() == 20
    np.testing.assert_array_equal(planted.labels != labels, planted.wrong)
    np.testing.assert_array_equal(planted.labels, plant(labels, 0.1, seed=1).labels)
    assert (planted.wrong != plant(labels, 0.1, seed=2).wrong).any()


def test_recall_is_the_share_of_planted_errors_that_the_detector_sees() -> None:
    X, y = known(seen=0.7)
    result = self_test(oracle(), X, y, share=0.1, seeds=[0, 1, 2, 3])
    expected = [X[plant(y, 0.1, seed).wrong, 1].mean() for seed in range(4)]
    assert result.recall == pytest.approx(np.mean(expected))
    assert result.recall_spread == pytest.approx(np.std(expected))
    assert result.n_planted == 100
    assert result.precision_low == result.precision_high == 1.0  # there is nothing else to flag
    assert result.suggestion_accuracy == 1.0


def test_real_errors_make_precision_a_range() -> None:
    X, y = known(seen=1.0, wrong=0.1)
    result = self_test(oracle(), X, y, share=0.1, seeds=[0])
    planted = plant(y, 0.1, 0)
    flagged = planted.labels != X[:, 0]  # the oracle sees all, real and planted
    assert result.precision_low == pytest.approx(planted.wrong[flagged].mean())
    assert result.precision_low is not None and result.precision_low < 0.7
    assert result.precision_high == 1.0  # and indeed every flag is right
    assert result.average_precision < 1.0  # real errors stand in the way of planted ones


def test_nothing_flagged_has_no_precision() -> None:
    X, y = known(seen=0.0)
    result = self_test(oracle(), X, y, seeds=[0])
    assert result.recall == 0
    assert result.precision_low is None and result.precision_high is None and result.suggestion_accuracy is None
    json.dumps(result.as_dict(), allow_nan=False)


def test_the_decision_is_the_one_of_the_run() -> None:
    X, y = known(seen=1.0)
    result = self_test(oracle(), X, y, share=0.1, seeds=[0], decision=Decision(budget=25))
    assert result.recall == pytest.approx(25 / 100)
    assert result.precision_low == 1.0


def test_the_detector_and_the_data_stay_as_they_are() -> None:
    X, y = (np.asarray(array) for array in load_digits(return_X_y=True))
    judge, before = FINE().fit(X, y), y.copy()
    vectors = judge.eigenvectors_.copy()
    verdict = judge.judge(X, y)
    given = self_test(judge, X, y, seeds=[0], before=verdict)
    np.testing.assert_array_equal(judge.eigenvectors_, vectors)
    np.testing.assert_array_equal(y, before)
    assert given == self_test(FINE(), X, y, seeds=[0])
    assert given.as_dict()["limits"] == LIMITS


def test_bad_shares_and_seeds() -> None:
    X, y = known(n=12)
    for share in (0.0, -0.1, 0.6, True):
        with pytest.raises(InvalidOption, match=r"above 0 and at most 0\.5"):
            plant(y, share)
    with pytest.raises(TooFewSamples, match="1 % of 12 labels is not even one"):
        plant(y, 0.01)
    with pytest.raises(InvalidOption, match="at least one run"):
        self_test(oracle(), X, y, seeds=[])


def test_notes_about_the_data_are_not_repeated() -> None:
    X, y = (np.asarray(array)[:300] for array in load_digits(return_X_y=True))
    y = np.append(y, 99)  # a class of one, which FINE says something about
    with warnings.catch_warnings():
        warnings.simplefilter("error", EigencleanWarning)
        self_test(FINE(), np.vstack([X, X[:1]]), y, seeds=[0])


class _Missing(Oracle):
    name: ClassVar[str] = "absent"

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        raise MissingExtra("absent needs nothing_there, which is not installed")


class _Blurred(Oracle):
    name: ClassVar[str] = "blurred"


def test_the_better_ranking_is_chosen_and_says_why() -> None:
    X, y = known(seen=1.0)
    blurred, absent = _Blurred(cut=oracle().cut, noise=2.0), _Missing(cut=oracle().cut)
    choice = choose([blurred, absent, oracle()], X, y, seeds=[0])
    assert choice.detector.name == "oracle"
    assert list(choice.tests) == ["blurred", "oracle"]
    assert "absent" in choice.skipped
    assert choice.reason.startswith("oracle ranks planted errors best: average precision 1.000; blurred 0.")
    record: dict[str, Any] = choice.as_dict()
    assert record["chosen"] == "oracle"
    json.dumps(record, allow_nan=False)
    assert choose([blurred], X, y, seeds=[0]).reason.startswith("blurred is the only candidate")
    with pytest.raises(MissingExtra, match="no candidate can run"):
        choose([absent], X, y, seeds=[0])


def test_the_first_of_equals_is_chosen() -> None:
    X, y = known(seen=1.0)
    twin = _Blurred(cut=oracle().cut)
    assert choose([twin, oracle()], X, y, seeds=[0]).detector.name == "blurred"


def test_candidates_are_registered_detectors() -> None:
    assert candidate_names()
    assert set(candidate_names()) <= set(DETECTORS) & set(CANDIDATES)
