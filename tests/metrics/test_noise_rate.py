"""The interval of the noise rate: against a slow loop, by its properties, and how often it holds the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.metrics import noise_rate_interval, verdict_interval
from eigenclean.metrics.noise_rate import noise_rate_intervals, wilson_interval
from eigenclean.verdict import Verdict

probabilities = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=60)
Z = 1.6448536269514722


def slow_interval(p_clean: list[float]) -> tuple[float, float]:
    """The definition, one label at a time, with logarithms of odds."""

    def shifted(p: float, shift: float) -> float:
        return 1.0 - p if p in (0.0, 1.0) else 1 / (1 + math.exp(math.log(p) - math.log1p(-p) - shift))

    n = len(p_clean)
    estimate = sum(1 - p for p in p_clean) / n
    decided = sum(0.5 if p == 0.5 else float(p < 0.5) for p in p_clean) / n
    ends = []
    for sign in (-1, 1):
        centre = (estimate + Z**2 / 2 / n) / (1 + Z**2 / n)
        half = Z / (1 + Z**2 / n) * math.sqrt(max(estimate * (1 - estimate), 0) / n + Z**2 / 4 / n**2)
        biased = sum(shifted(p, sign * Z * math.log(2)) for p in p_clean) / n
        doubts = (centre + sign * half - estimate, biased - estimate, decided - estimate)
        ends.append(min(1.0, max(0.0, estimate + sign * math.hypot(*doubts))))
    return ends[0], ends[1]


@given(p=st.lists(st.floats(0, 1).filter(lambda p: p in (0, 1) or 1e-9 < p < 1 - 1e-9), min_size=1, max_size=40))
def test_the_interval_is_that_of_a_slow_loop(p: list[float]) -> None:
    assert noise_rate_interval(p) == pytest.approx(slow_interval(p), abs=1e-7)


@given(p=probabilities)
def test_it_holds_the_estimate_and_turns_with_the_labels(p: list[float]) -> None:
    low, high = noise_rate_interval(p)
    assert 0 <= low <= 1 - np.mean(p) + 1e-12
    assert 1 - np.mean(p) - 1e-12 <= high <= 1
    assert noise_rate_interval(1 - np.array(p)) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(p=probabilities, times=st.integers(2, 50))
def test_more_labels_of_the_same_kind_never_widen_it(p: list[float], times: int) -> None:
    low, high = noise_rate_interval(p)
    lower, higher = noise_rate_interval(p * times)
    assert lower >= low - 1e-12
    assert higher <= high + 1e-12


@given(rows=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), max_size=50))
def test_groups_are_judged_alone(rows: list[tuple[float, int]]) -> None:
    p, groups = np.array([p for p, _ in rows]), np.array([group for _, group in rows], dtype=np.intp)
    low, high = noise_rate_intervals(p, groups, 6)
    for group in range(6):
        assert (low[group], high[group]) == pytest.approx(noise_rate_interval(p[groups == group]))


def test_what_is_decided_leaves_sampling_alone() -> None:
    expected = binomtest(30, 200).proportion_ci(0.9, method="wilson")
    assert noise_rate_interval([0.0] * 30 + [1.0] * 170) == pytest.approx((expected.low, expected.high))
    vague = noise_rate_interval([0.85] * 200)
    assert vague[0] < expected.low and vague[1] > expected.high


def test_no_labels_say_nothing() -> None:
    assert noise_rate_interval([]) == (0.0, 1.0)


def _coverage(p: Float64s, odds: float, n_draws: int = 2000) -> tuple[float, float, float]:
    """How often the interval holds the share of wrong labels, when the real odds of a label are other by a factor.

    A verdict on fresh labels each time: in the sample, in the source, and in the source by sampling alone.
    """
    rng = np.random.default_rng(0)
    hits = np.zeros(3)
    real = odds * (1 - p) / (odds * (1 - p) + p)
    for _ in range(n_draws):
        rows = rng.integers(0, len(p), len(p))
        low, high = noise_rate_interval(p[rows])
        wrong = np.mean(rng.random(len(p)) < real[rows])
        only_low, only_high = wilson_interval(np.mean(1 - p[rows]), len(p))
        hits += (low <= wrong <= high, low <= real.mean() <= high, only_low <= real.mean() <= only_high)
    sample, source, sampling_alone = hits / n_draws
    return float(sample), float(source), float(sampling_alone)


@pytest.mark.parametrize("doubt", [0.05, 0.5, 2.0], ids=["decided", "some doubt", "doubtful"])
@pytest.mark.parametrize("n", [40, 1000])
def test_it_holds_the_truth_when_the_probabilities_are_right(doubt: float, n: int) -> None:
    p = np.random.default_rng(1).beta(0.85 * doubt, 0.15 * doubt, n)
    in_sample, in_source, _ = _coverage(p, odds=1.0)
    assert in_sample >= 0.9
    assert in_source >= 0.88  # a binomial is a discrete thing


@pytest.mark.parametrize("odds", [1 / 3, 1 / 2, 2, 3])
def test_it_holds_the_truth_when_all_odds_are_off_by_a_factor_where_sampling_alone_does_not(odds: float) -> None:
    p = np.random.default_rng(1).beta(0.85, 0.15, 3000)
    in_sample, in_source, sampling_alone = _coverage(p, odds, n_draws=500)
    assert in_sample >= 0.9
    assert in_source >= 0.9
    assert sampling_alone < 0.1


def test_it_cannot_know_that_all_probabilities_are_wrong_the_same_way() -> None:
    """The limit that the documentation names: nobody could see this without the truth."""
    p = np.random.default_rng(1).beta(0.85, 0.15, 3000)
    assert _coverage(p, odds=30.0, n_draws=50)[0] == 0


def test_bad_input() -> None:
    with pytest.raises(InvalidData, match="p_clean must be within 0 and 1, got nan in row 1"):
        noise_rate_interval([0.5, np.nan])
    with pytest.raises(InvalidData, match="one number per row"):
        noise_rate_interval(np.zeros((2, 2)))
    with pytest.raises(InvalidOption, match="level"):
        noise_rate_interval([0.5], level=90)


def test_a_higher_level_is_wider() -> None:
    p = [0.1] * 10 + [0.8] * 90
    ends = [noise_rate_interval(p, level) for level in (0.5, 0.9, 0.99)]
    assert ends[0][0] > ends[1][0] > ends[2][0]
    assert ends[0][1] < ends[1][1] < ends[2][1]


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ((0.0, 0.5), (0.0, 0.5)),
        ([0.1, 0.11], None),  # narrower than what the probabilities leave open
        (["a", "b"], None),
        ([0.5], None),
        ([0.5, float("nan")], None),
        ("01", None),
        (None, None),
    ],
)
def test_the_interval_of_a_verdict_holds_the_recorded_range(
    recorded: object, expected: tuple[float, float] | None
) -> None:
    n = 100
    p_clean = np.where(np.arange(n) < 10, 0.05, 0.98)
    labels = np.zeros(n, dtype=int)
    verdict = Verdict(
        np.arange(n), labels, p_clean, p_clean, p_clean < 0.5, labels, p_clean, {"noise_rate_range": recorded}
    )
    assert verdict_interval(verdict) == pytest.approx(expected or noise_rate_interval(p_clean))
