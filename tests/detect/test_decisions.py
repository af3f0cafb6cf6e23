"""Decisions: against slow loops, and what must hold for any probabilities."""

import dataclasses
import json
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from eigenclean.arrays import Array, Bools
from eigenclean.detect import DETECTORS, FINE
from eigenclean.detect.decisions import Decision, at_most_false_flags, at_threshold, budget, decide
from eigenclean.errors import EigencleanWarning, InvalidOption, MissingEvidence
from eigenclean.verdict import Verdict

# Few distinct values, so that there are ties, beside arbitrary ones.
numbers = st.one_of(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), st.floats(0, 1))
probabilities = st.lists(numbers, max_size=40).map(lambda values: np.array(values, dtype=np.float64))
shares = st.one_of(st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.floats(0, 1))


def expected_share(p: Array, flagged: Bools) -> float:
    """Of wrong flags: the odds of being right are 12 times as high, and 5 in 10 000 samples nobody foresees."""
    cautious = 12 * p[flagged] / (1 + 11 * p[flagged])
    return (float(cautious.sum()) + 0.0005 * len(p)) / int(flagged.sum())


def slow_false_flags(p: Array, share: float) -> Bools:
    """Every cut between distinct values is tried; the one with most flags that is allowed wins."""
    best = np.zeros(len(p), dtype=bool)
    for level in np.unique(p):
        flagged = np.array([value <= level for value in p])
        if expected_share(p, flagged) <= share * (1 + 1e-12) and flagged.sum() > best.sum():
            best = flagged
    return best


@given(probabilities, shares)
def test_false_flags_equal_a_search_over_all_cuts(p: Array, share: float) -> None:
    result, slow = at_most_false_flags(p, share), slow_false_flags(p, share)
    if (result != slow).any():  # only where rounding decides
        assert abs(expected_share(p, result | slow) - share) < 1e-12


@given(probabilities, shares)
def test_the_expected_share_is_never_above(p: Array, share: float) -> None:
    flagged = at_most_false_flags(p, share)
    if flagged.any():
        assert p[flagged].mean() <= share + 1e-12
        assert p[flagged].max() < p[~flagged].min(initial=np.inf)  # the worst, and equal ones together


@given(probabilities, shares, shares)
def test_more_allowed_means_more_flags(p: Array, a: float, b: float) -> None:
    fewer, more = at_most_false_flags(p, min(a, b)), at_most_false_flags(p, max(a, b))
    assert not (fewer & ~more).any()


@given(probabilities, st.integers(1, 60), st.randoms(use_true_random=False))
def test_a_budget_is_spent_exactly_on_the_worst(p: Array, n: int, random: Any) -> None:
    score = np.array([random.choice([0.0, 1.0, 2.0]) for _ in p])
    flagged = budget(p, score, n)
    assert flagged.sum() == min(n, len(p))
    pairs = list(zip(p.tolist(), score.tolist(), strict=True))
    chosen = sorted(pair for pair, flag in zip(pairs, flagged, strict=True) if flag)
    assert chosen == sorted(pairs)[:n]


@given(probabilities, shares)
def test_a_threshold_is_a_comparison(p: Array, t: float) -> None:
    np.testing.assert_array_equal(at_threshold(p, t), [value <= t for value in p])


@settings(max_examples=30)
@given(st.integers(1, 3000), st.sampled_from([0.05, 0.1, 0.3, 0.7]))
def test_equal_probabilities_at_the_very_share_are_all_flagged(n: int, share: float) -> None:
    cautious = share - 0.0005  # and 5 in 10 000 that nobody foresees make the share
    at = cautious / (12 - 11 * cautious)
    assert at_most_false_flags(np.full(n, at), share).all()  # whatever rounding makes of the mean


def test_a_few_suspects_in_much_clean_data_are_left_alone() -> None:
    p = np.full(20_000, 0.999)
    p[:15] = 0.001
    assert not at_most_false_flags(p, 0.1).any()
    p[:300] = 0.001
    assert at_most_false_flags(p, 0.1)[:300].all()


def test_honest_probabilities_keep_the_promise() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.3, 0.3, size=50_000)
    right = rng.random(len(p)) < p
    for share in (0.02, 0.1, 0.3):
        flagged = at_most_false_flags(p, share)
        assert 0.03 * share < right[flagged].mean() <= share


def test_odds_that_are_off_by_a_factor_of_twelve_keep_the_promise() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.3, 0.3, size=50_000)
    right = rng.random(len(p)) < 12 * p / (1 + 11 * p)
    for share in (0.02, 0.1, 0.3):
        assert right[at_most_false_flags(p, share)].mean() == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "exactly one of threshold, max_false_flags and budget, got none"),
        ({"threshold": 0.5, "budget": 3}, "got threshold and budget"),
        ({"threshold": 0.5, "max_false_flags": 0.1, "budget": 3}, "got threshold and max_false_flags and budget"),
        ({"threshold": 1.5}, "threshold must be between 0 and 1, got 1.5"),
        ({"threshold": float("nan")}, "threshold must be between 0 and 1, got nan"),
        ({"max_false_flags": -0.1}, "max_false_flags must be between 0 and 1, got -0.1"),
        ({"max_false_flags": True}, "max_false_flags must be between 0 and 1, got True"),
        ({"budget": 0}, "budget must be a whole number from 1, got 0"),
        ({"budget": 2.5}, "budget must be a whole number from 1, got 2.5"),
    ],
)
def test_values_that_are_not_allowed(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidOption, match=words) as error:
        Decision(**options)
    assert "\n" not in str(error.value)


def test_functions_check_their_values_too() -> None:
    p = np.array([0.1, 0.9])
    with pytest.raises(InvalidOption, match="threshold must be"):
        at_threshold(p, 2)
    with pytest.raises(InvalidOption, match="max_false_flags must be"):
        at_most_false_flags(p, 2)
    with pytest.raises(InvalidOption, match="budget must be"):
        budget(p, p, -1)


def test_a_decision_is_a_value_with_words() -> None:
    assert Decision(budget=5) == Decision(budget=5) != Decision(budget=6)
    assert str(Decision(budget=5)) == "the 5 labels most worth a look"
    assert "0.3 or less" in str(Decision(threshold=0.3))
    record = Decision(budget=2).record(np.array([0.1, 0.3, 0.9]), np.array([True, True, False]))
    assert record == {"rule": "budget", "value": 2, "threshold": 0.3, "expected_false_flags": pytest.approx(0.2)}
    nothing = Decision(max_false_flags=0.1).record(np.array([0.5]), np.array([False]))
    assert nothing["threshold"] == 0 and nothing["expected_false_flags"] == 0


@pytest.fixture(scope="module")
def noisy() -> tuple[Array, Array]:
    X, y = (np.asarray(array)[:800] for array in load_digits(return_X_y=True))
    rng = np.random.default_rng(0)
    return X, np.where(rng.random(800) < 0.2, (y + rng.integers(1, 10, 800)) % 10, y)


RULES: list[dict[str, Any]] = [{"threshold": 0.2}, {"max_false_flags": 0.2}, {"budget": 20}]


@pytest.mark.parametrize("name", DETECTORS)
def test_every_detector_judges_by_any_decision(name: str, noisy: tuple[Array, Array]) -> None:
    X, y = noisy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EigencleanWarning)
        judge = DETECTORS[name]().fit(X, y)
    for rule in RULES:
        decision = Decision(**rule)
        verdict = judge.judge(X, y, decision=decision)
        np.testing.assert_array_equal(verdict.flagged, decision.flags(verdict.p_clean, verdict.score))
        kept = ~verdict.flagged
        np.testing.assert_array_equal(verdict.suggested[kept], y[kept])
        np.testing.assert_array_equal(verdict.suggested_confidence[kept], verdict.p_clean[kept])
        assert (verdict.suggested[~kept] != y[~kept]).all()
        assert isinstance(verdict.made_by, dict)
        assert verdict.made_by["decision"]["rule"] == next(iter(rule))
        assert verdict.made_by["threshold"] == verdict.made_by["decision"]["threshold"]
        json.dumps(verdict.made_by, allow_nan=False)


def test_without_a_decision_the_threshold_decides(noisy: tuple[Array, Array]) -> None:
    judge = FINE(threshold=0.3)
    by_default, by_decision = judge.judge(*noisy), judge.judge(*noisy, decision=Decision(threshold=0.3))
    for field in dataclasses.fields(Verdict):
        np.testing.assert_array_equal(getattr(by_default, field.name), getattr(by_decision, field.name))
    assert isinstance(by_default.made_by, dict)
    assert by_default.made_by["decision"]["rule"] == "threshold"
    assert by_default.made_by["decision"]["value"] == 0.3


def test_the_boundary_in_the_record_moves_with_the_decision(noisy: tuple[Array, Array]) -> None:
    X, y = noisy
    verdict = FINE().judge(X, y, decision=Decision(max_false_flags=0.15))
    assert isinstance(verdict.made_by, dict)
    for k, boundary in enumerate(verdict.made_by["mixture"]["boundary"]):
        if boundary is not None:
            of_class = y == k
            # The threshold is the probability of the last flagged label: the boundary lies on its score.
            np.testing.assert_array_equal(verdict.flagged[of_class], verdict.score[of_class] <= boundary + 1e-9)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: next(iter(rule)))
def test_fewer_flags_equal_a_new_judgement(rule: dict[str, Any], noisy: tuple[Array, Array]) -> None:
    wide = FINE().judge(*noisy, decision=Decision(threshold=1.0))
    narrow, judged = decide(wide, **rule), FINE().judge(*noisy, decision=Decision(**rule))
    for field in ("flagged", "suggested", "suggested_confidence", "p_clean", "score"):
        np.testing.assert_array_equal(getattr(narrow, field), getattr(judged, field))
    assert isinstance(narrow.made_by, dict) and isinstance(judged.made_by, dict)
    assert narrow.made_by["decision"] == judged.made_by["decision"]
    assert wide.flagged.all()  # the verdict that was given stays as it was


def test_a_flag_without_a_suggestion_is_refused(noisy: tuple[Array, Array]) -> None:
    verdict = FINE().judge(*noisy)
    with pytest.raises(
        MissingEvidence, match=r"without a suggestion; judge again with judge\(X, y, decision="
    ) as error:
        decide(verdict, budget=verdict.n_flagged + 1)
    assert str(error.value).startswith("decide: 1 label would")


def test_a_decided_verdict_survives_its_file(noisy: tuple[Array, Array], tmp_path: Any) -> None:
    verdict = decide(FINE().judge(*noisy), budget=7)
    verdict.save(tmp_path / "run")
    loaded = Verdict.load(tmp_path / "run")
    assert loaded.n_flagged == 7
    assert isinstance(loaded.made_by, dict) and isinstance(verdict.made_by, dict)
    assert loaded.made_by["decision"] == verdict.made_by["decision"]
    assert decide(loaded, budget=3).n_flagged == 3  # also a verdict from a file
