"""Simulated theorems against samples that are drawn one by one, and properties of their bounds."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidOption
from eigenclean_lab.theory import perturbation, perturbation_bound, precision_bound, recall_bound
from eigenclean_lab.theory.checks import chance, number
from eigenclean_lab.theory.gaussian_class import GaussianClass, draw_class
from eigenclean_lab.theory.perturbation_bound import bound_terms
from eigenclean_lab.theory.plots import draw_theorem1, draw_theorem2
from eigenclean_lab.theory.run import DELTA, PROFILES, Grid, grid_of
from eigenclean_lab.theory.selection_bounds import FORMS
from eigenclean_lab.theory.theorem1 import constant_needed, simulate_theorem1
from eigenclean_lab.theory.theorem2 import simulate_theorem2

MODEL = GaussianClass(0.3, 1.2, 0.4, 5, 80)


def samples(model: GaussianClass, rng: np.random.Generator) -> tuple[Float64s, Float64s]:
    """Every sample of one class: those with right labels, those with wrong ones."""
    clean = model.v + model.sigma * rng.standard_normal((model.n_clean, model.d))
    noisy = model.w + model.sigma * rng.standard_normal((model.n_noisy, model.d))
    return clean, noisy


def eigenvector(clean: Float64s, noisy: Float64s, v: Float64s) -> Float64s:
    rows = np.concatenate([clean, noisy])
    u = np.linalg.eigh(rows.T @ rows)[1][:, -1]
    return np.asarray(u if u @ v >= 0 else -u)


def test_simulated_sines_are_those_of_samples() -> None:
    rng, draws = np.random.default_rng(0), 600
    cell = simulate_theorem1([MODEL], draws=draws)[0]
    sines = [float(perturbation(eigenvector(*samples(MODEL, rng), MODEL.v), MODEL.v)) for _ in range(draws)]
    error = float(np.std(sines)) / math.sqrt(draws)
    assert cell.mean == pytest.approx(np.mean(sines), abs=5 * math.sqrt(2) * error)
    assert cell.high == pytest.approx(np.quantile(sines, 1 - DELTA), rel=0.1)
    assert np.mean(np.array(sines) > cell.corrected) <= DELTA  # the bound holds for real samples


def test_simulated_precision_and_recall_are_those_of_samples() -> None:
    """u from one set of samples, the boundary from a second, precision and recall from a third."""
    rng, draws = np.random.default_rng(1), 300
    cell = simulate_theorem2([MODEL], draws=draws)[0]
    precision, recall, gaps = [], [], []
    for _ in range(draws):
        u = eigenvector(*samples(MODEL, rng), MODEL.v)
        clean, noisy = samples(MODEL, rng)
        boundary = ((clean @ u).mean() + (noisy @ u).mean()) / 2
        clean, noisy = (
            np.concatenate(pair) @ u for pair in zip(*(samples(MODEL, rng) for _ in range(4)), strict=True)
        )
        kept, wrong = (clean > boundary).sum(), (noisy > boundary).sum()
        precision.append(kept / (kept + wrong))
        recall.append(kept / len(clean))
        gaps.append(u @ (MODEL.v - MODEL.w))
    assert cell.gap == pytest.approx(np.mean(gaps), rel=0.03)
    assert cell.precision == pytest.approx(np.mean(precision), abs=0.01)
    assert cell.recall == pytest.approx(np.mean(recall), abs=0.01)
    assert np.mean(precision) > cell.precision_corrected and np.mean(recall) > cell.recall_corrected


@pytest.mark.parametrize("simulate", [simulate_theorem1, simulate_theorem2])
def test_equal_seeds_give_equal_results_and_a_model_does_not_depend_on_the_others(simulate: Any) -> None:
    other = GaussianClass(0.1, 1.5, 0.2, 4, 50)
    first = simulate([MODEL, other], draws=5, seed=3)
    assert first == simulate([MODEL, other], draws=5, seed=3)
    assert first[0] == simulate([MODEL], draws=5, seed=3)[0] != simulate([MODEL], draws=5, seed=4)[0]


@pytest.mark.parametrize(
    "model", [MODEL, GaussianClass(0.001, 0.5, 1.0, 2, 10), GaussianClass(2.0, 3.0, 0.1, 9, 7)]
)
def test_the_model_is_what_it_says(model: GaussianClass) -> None:
    assert [np.linalg.norm(model.v), np.linalg.norm(model.w)] == pytest.approx([1.0, 1.0])
    assert model.v @ model.w == pytest.approx(math.cos(model.theta))
    assert model.n_noisy >= 1 and abs(model.n_noisy - model.tau * model.n_clean) < 1
    assert model.ratio == model.n_noisy / model.n_clean
    draw = draw_class(model, np.random.default_rng(0))
    assert np.linalg.norm(draw.u) == pytest.approx(1.0) and draw.u @ model.v >= 0


def test_without_noise_the_eigenvector_is_that_of_two_directions() -> None:
    model = GaussianClass(0.5, 1.0, 0.0, 4, 100)
    draw = draw_class(model, np.random.default_rng(0))
    moment = 100 * np.outer(model.v, model.v) + 50 * np.outer(model.w, model.w)
    expected = np.linalg.eigh(moment)[1][:, -1]
    assert abs(float(draw.u @ expected)) == pytest.approx(1.0, abs=1e-9)
    assert draw.mean_clean.tolist() == model.v.tolist() and draw.mean_noisy.tolist() == model.w.tolist()


taus, angles = st.floats(0.01, 0.3), st.floats(1.2, math.pi / 2)


@given(taus, angles, st.floats(0.01, 0.3), st.integers(2, 500), st.integers(100, 10**6), st.floats(1.01, 3.0))
@settings(max_examples=100)
def test_the_bound_grows_with_noise_and_shrinks_with_samples(
    tau: float, theta: float, sigma: float, d: int, n: int, factor: float
) -> None:
    bound = float(perturbation_bound(tau, theta, sigma, d, n))
    assert float(perturbation_bound(tau, theta, factor * sigma, d, n)) >= bound
    assert float(perturbation_bound(tau, theta, sigma, factor * d, n)) >= bound
    assert float(perturbation_bound(tau, theta, sigma, d, factor * n)) <= bound
    assert float(perturbation_bound(min(factor * tau, 1.0), theta, sigma, d, n)) >= bound
    assert float(perturbation_bound(tau, theta, sigma, d, n, delta=0.01)) >= bound


@given(taus, angles, st.floats(0.05, 0.5), st.integers(2, 100), st.floats(0.01, 0.9))
@settings(max_examples=100)
def test_the_constant_that_is_needed_makes_the_bound_equal_the_sine(
    tau: float, theta: float, sigma: float, d: int, sine: float
) -> None:
    setting = tuple(np.array([value], dtype=np.float64) for value in (tau, theta, sigma, d, 1000))
    needed = float(constant_needed(np.array([sine]), setting, "printed")[0])
    if needed == 0.0:
        terms = bound_terms(*setting, delta=DELTA, form="printed", constant=1e-12)
        assert float(terms.bound().value[0]) >= sine - 1e-9 or float(terms.gap[0]) <= 0
    else:
        bound = perturbation_bound(*setting, delta=DELTA, form="printed", constant=needed)
        assert float(bound.value[0]) == pytest.approx(sine, rel=1e-9)


@given(st.floats(0.05, 3), st.floats(0.05, 2), st.integers(2, 10**4), st.integers(2, 10**4), st.floats(0.1, 10))
@settings(max_examples=100)
def test_selection_bounds_do_not_depend_on_the_unit_of_the_scores(
    gap: float, sigma: float, n: int, m: int, scale: float
) -> None:
    for form in FORMS:
        first = precision_bound(gap, sigma, n, m, form=form)
        assert float(precision_bound(scale * gap, scale * sigma, n, m, form=form)) == pytest.approx(float(first))
    assert float(recall_bound(scale * gap, scale * sigma, n, m)) == pytest.approx(
        float(recall_bound(gap, sigma, n, m))
    )


def test_a_grid_is_every_combination_once() -> None:
    grid = Grid((0.1, 0.4), (60, 90), (0.5,), (2, 3, 4), (10,), draws=1)
    models = grid.models()
    assert len(models) == len(set(models)) == 12
    assert {round(math.degrees(model.theta)) for model in models} == {60, 90}
    assert {(model.tau, model.d) for model in models} == {(tau, d) for tau in (0.1, 0.4) for d in (2, 3, 4)}


def test_an_unknown_profile_is_one_sentence() -> None:
    assert grid_of("smoke", by="theorem1") is PROFILES["smoke"]
    with pytest.raises(InvalidOption, match=r"^theorem1: profile must be one of .*, got 'large'"):
        grid_of("large", by="theorem1")


@pytest.mark.parametrize("value", [-1e-9, math.nan, math.inf])
def test_arguments_of_bounds_are_checked(value: float) -> None:
    with pytest.raises(InvalidOption, match=r"^by: sigma must be at least 0, got "):
        number([1.0, value], "sigma", by="by", least=0)
    assert number([0.0, 2.0], "sigma", by="by", least=0).tolist() == [0.0, 2.0]
    with pytest.raises(InvalidOption, match=r"must be above 0, got 0"):
        number(0.0, "gap", by="by", least=0, strictly=True)
    for delta in (0.0, 1.0, value):
        with pytest.raises(InvalidOption, match="delta must be between 0 and 1"):
            chance(delta, by="by")


def test_plots_show_the_simulated_numbers() -> None:
    models = [GaussianClass(tau, 1.4, sigma, 4, 200) for tau in (0.1, 0.3) for sigma in (0.05, 0.2)]
    first = Figure()
    cells = simulate_theorem1(models, draws=5)
    draw_theorem1(cells, first)
    bounds, needs = first.axes
    shown = np.concatenate([np.asarray(dots.get_offsets()) for dots in bounds.collections])
    expected = [
        (cell.high, bound) for cell in cells for bound in (cell.printed, cell.corrected, cell.exact) if bound < 1
    ]
    np.testing.assert_allclose(sorted(shown.tolist()), sorted(map(list, expected)))
    worst = [max(cell.printed_needs for cell in cells if cell.sigma == sigma) for sigma in (0.05, 0.2)]
    assert np.asarray(needs.lines[0].get_ydata()).tolist() == pytest.approx(worst)
    second = Figure()
    selections = simulate_theorem2(models, draws=5)
    draw_theorem2(selections, second)
    fails = np.asarray(second.axes[0].lines[0].get_ydata())
    assert fails.tolist() == sorted((cell.precision_printed_fails for cell in selections), reverse=True)
    assert len(second.axes) == 3
