"""Theorem 2: the printed precision bound is too high, the printed recall bound counts the wrong samples."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from eigenclean.errors import InvalidOption
from eigenclean_lab.theory import precision_bound, recall_bound, run_theorem2
from eigenclean_lab.theory.gaussian_class import GaussianClass
from eigenclean_lab.theory.run import DELTA
from eigenclean_lab.theory.selection_bounds import FORMS, boundary_error, precision_at, recall_at
from eigenclean_lab.theory.theorem2 import simulate_theorem2

KNOWN = (0.5, 0.3, 200, 200)  # Δ, σ, N₊, N₋
gaps, sigmas, counts = st.floats(0.01, 5), st.floats(0.01, 3), st.integers(1, 10**5)


def test_the_known_answers() -> None:
    c = float(boundary_error(0.3, 200, 200))
    assert float(precision_bound(*KNOWN, form="printed")) == pytest.approx(0.820, abs=5e-4)
    assert float(precision_at(0.0, 0.5, 0.3, 0.5)) == pytest.approx(0.798, abs=5e-4)
    assert float(precision_bound(*KNOWN)) == pytest.approx(0.757, abs=5e-4)
    assert float(precision_at(-c, 0.5, 0.3, 0.5)) == pytest.approx(0.775, abs=5e-4)
    assert float(precision_bound(*KNOWN, form="tight")) == pytest.approx(float(precision_at(-c, 0.5, 0.3, 0.5)))


def test_the_printed_bound_is_above_the_precision_of_the_perfect_boundary() -> None:
    assert float(precision_bound(*KNOWN, form="printed")) > float(precision_at(0.0, 0.5, 0.3, 0.5))
    assert float(precision_bound(*KNOWN)) < float(precision_at(0.0, 0.5, 0.3, 0.5))


@given(gaps, sigmas, counts, counts, st.floats(-1, 1))
@settings(max_examples=300)
def test_no_boundary_that_is_allowed_is_worse_than_the_bounds(
    gap: float, sigma: float, n: int, m: int, place: float
) -> None:
    share = n / (n + m)
    shift = place * float(boundary_error(sigma, n, m))
    corrected, tight = (float(precision_bound(gap, sigma, n, m, form=form)) for form in ("corrected", "tight"))
    assert corrected <= tight + 1e-12
    assert tight <= float(precision_at(shift, gap, sigma, share)) + 1e-9
    assert float(recall_bound(gap, sigma, n, m)) <= float(recall_at(shift, gap, sigma)) + 1e-9


def test_the_boundary_error_is_a_gaussian_tail() -> None:
    """𝒞 = σ/√2: the midpoint has deviation σ√(1/N₊ + 1/N₋)/2, and a Gaussian tail is at most 2exp(−x²/2)."""
    rng, (n, m, sigma) = np.random.default_rng(0), (40, 15, 0.7)
    clean, noisy = rng.normal(0, sigma, (20_000, n)).mean(axis=1), rng.normal(0, sigma, (20_000, m)).mean(axis=1)
    off = np.abs(clean + noisy) / 2
    for delta in (0.5, 0.2, 0.05):
        c = float(boundary_error(sigma, n, m, delta=delta))
        exact = 2 * norm.sf(c / (sigma * math.sqrt(1 / n + 1 / m) / 2))
        assert exact <= delta
        assert (off > c).mean() == pytest.approx(exact, abs=0.01)


def test_precision_and_recall_are_those_of_samples() -> None:
    rng = np.random.default_rng(1)
    clean, noisy = rng.normal(0.5, 0.3, 300_000), rng.normal(0, 0.3, 100_000)
    kept, wrong = (clean > 0.3).sum(), (noisy > 0.3).sum()
    assert float(recall_at(0.05, 0.5, 0.3)) == pytest.approx(kept / 300_000, abs=3e-3)
    assert float(precision_at(0.05, 0.5, 0.3, 0.75)) == pytest.approx(kept / (kept + wrong), abs=3e-3)


def test_the_grid() -> None:
    run = run_theorem2("smoke", seed=1)
    for name in ("precision_corrected", "precision_tight", "recall_corrected"):
        assert run.numbers[f"{name}_violated"] == 0
        assert max(float(cell[f"{name}_fails"]) for cell in run.cells) < DELTA / 2
    assert run.numbers["precision_printed_violated"] > 0.5 * run.numbers["cells"]
    # Where wrong labels are few, 1/N₊ says nothing about how well their mean is known.
    few = [cell for cell in run.cells if cell["recall_printed_fails"] > DELTA]
    assert few and {cell["tau"] for cell in few} == {0.1}


def test_with_u_from_the_same_samples_the_recall_bound_fails_in_many_dimensions() -> None:
    narrow, wide = simulate_theorem2([GaussianClass(0.5, 1.2, 0.5, d, 200) for d in (4, 256)], draws=60)
    assert narrow.recall_reused_fails <= 0.05 < 0.3 < wide.recall_reused_fails
    assert wide.recall_corrected_fails < DELTA / 2


def test_settings_without_a_gap_say_nothing() -> None:
    # More wrong labels than right ones: u is theirs, and every Δ is negative.
    assert simulate_theorem2([GaussianClass(4.0, math.pi / 3, 0.05, 8, 500)], draws=10) == []


def test_arrays_give_one_bound_for_each_element() -> None:
    gap = np.array([0.2, 0.5])
    assert precision_bound(gap, 0.3, 200, [[100], [50]]).shape == (2, 2)
    assert recall_bound(gap, 0.3, 200, 100)[1] == float(recall_bound(0.5, 0.3, 200, 100))


def test_priors_are_those_of_the_samples_unless_given() -> None:
    assert float(precision_bound(0.5, 0.3, 300, 100)) == float(
        precision_bound(0.5, 0.3, 300, 100, share_clean=0.75)
    )
    assert float(precision_bound(0.5, 0.3, 300, 100, share_clean=1.0)) == 1.0


@pytest.mark.parametrize("form", FORMS)
def test_more_samples_help_where_the_bound_is_right(form: str) -> None:
    few, many = (precision_bound(0.5, 0.3, n, n, form=form) for n in (50, 5000))  # type: ignore[arg-type]
    assert (few > many) if form == "printed" else (few < many)  # the wrong sign, seen from the other side


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gap": 0.0}, "gap must be above 0, got 0"),
        ({"sigma": 0.0}, "sigma must be above 0, got 0"),
        ({"n_noisy": 0}, "n_noisy must be at least 1, got 0"),
        ({"delta": 0.0}, "delta must be between 0 and 1, got 0.0"),
        ({"constant": -1.0}, "constant must be above 0, got -1"),
        ({"form": "exact"}, "form must be one of corrected, printed, tight, got 'exact'"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(change: dict[str, object], words: str) -> None:
    given_ = {"gap": 0.5, "sigma": 0.3, "n_clean": 10, "n_noisy": 10, **change}
    with pytest.raises(InvalidOption, match=f"^precision_bound: {words}"):
        precision_bound(**given_)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match=f"^recall_bound: {words}"):
        recall_bound(**given_)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="share_clean must be at most 1, got 2"):
        precision_bound(*KNOWN, share_clean=2.0)
