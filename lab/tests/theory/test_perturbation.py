"""The sine between directions, and theorem 1: what is printed fails, what is corrected never does."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenclean.arrays import Float64s
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean_lab.theory import perturbation, perturbation_bound, run_theorem1
from eigenclean_lab.theory.gaussian_class import GaussianClass, draw_class
from eigenclean_lab.theory.perturbation_bound import PROVEN, bound_terms, gaussian_error
from eigenclean_lab.theory.run import DELTA
from eigenclean_lab.theory.theorem1 import constant_needed, simulate_theorem1

KNOWN = (0.2, math.pi / 2, 0.1, 128, 2000)  # τ, θ, σ, d, N₊
NAMES = ("tau", "theta", "sigma", "d", "n_clean")


def vectors(d: int, seed: int) -> tuple[Float64s, Float64s]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(d), rng.standard_normal(d)


@given(st.integers(2, 40), st.integers(0, 10_000))
@settings(max_examples=40)
def test_perturbation_is_the_norm_of_the_difference_of_projections(d: int, seed: int) -> None:
    u, v = vectors(d, seed)
    a, b = u / np.linalg.norm(u), v / np.linalg.norm(v)
    norm = np.linalg.norm(np.outer(a, a) - np.outer(b, b), 2)
    assert float(perturbation(u, v)) == pytest.approx(float(norm), abs=1e-12)
    assert float(perturbation(u, v)) == pytest.approx(math.sqrt(max(0.0, 1 - float(a @ b) ** 2)), abs=1e-7)
    assert float(perturbation(-3 * u, v)) == pytest.approx(float(perturbation(v, u)), abs=1e-12)


def test_perturbation_is_exact_where_the_square_root_is_not() -> None:
    angle = 1e-10  # 1 − cos² would be 0
    assert float(perturbation([1.0, 0.0], [math.cos(angle), math.sin(angle)])) == pytest.approx(angle, rel=1e-6)


def test_perturbation_of_stacks() -> None:
    u, v = np.eye(3)[:2], np.array([1.0, 0.0, 0.0])
    assert perturbation(u, v).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("u", "v"), [([0.0, 0.0], [1.0, 0.0]), ([math.nan, 1.0], [1.0, 0.0]), ([1.0], [1.0, 0.0]), (1.0, [1.0])]
)
def test_what_has_no_direction_is_refused(u: object, v: object) -> None:
    with pytest.raises(InvalidData, match=r"^perturbation: "):
        perturbation(u, v)  # type: ignore[arg-type]


def test_the_known_answer() -> None:
    """With these numbers u turns by 0.0254, and the printed bound says 0.0047."""
    cell = simulate_theorem1([GaussianClass(*KNOWN)], draws=200)[0]
    assert cell.mean == pytest.approx(0.0254, abs=3e-4)
    assert cell.printed == pytest.approx(0.0047, abs=5e-5)
    assert cell.printed_fails == 1.0
    assert cell.corrected_fails == 0.0
    assert cell.corrected == pytest.approx(float(perturbation_bound(*KNOWN)))


def by_samples(model: GaussianClass, rng: np.random.Generator) -> Float64s:
    """The slow way: every sample, and NumPy's eigenvectors."""
    centres = np.repeat([model.v, model.w], [model.n_clean, model.n_noisy], axis=0)
    z = centres + model.sigma * rng.standard_normal(centres.shape)
    return np.asarray(np.linalg.eigh(z.T @ z)[1][:, -1])


@pytest.mark.parametrize(
    "model",
    [
        GaussianClass(0.5, 1.0, 0.5, 6, 60),
        GaussianClass(0.3, 1.5, 0.3, 20, 9),
        GaussianClass(0.2, 1.4, 0.2, 70, 300),
    ],
)
def test_draws_are_distributed_like_samples_drawn_one_by_one(model: GaussianClass) -> None:
    rng = np.random.default_rng(0)
    n = 400
    fast = np.array([abs(draw_class(model, rng).u[:2]) for _ in range(n)])
    slow = np.array([abs(by_samples(model, rng)[:2]) for _ in range(n)])
    apart = np.abs(fast.mean(axis=0) - slow.mean(axis=0))
    assert (apart < 4 * np.sqrt((fast.var(axis=0) + slow.var(axis=0)) / n)).all()
    assert (np.abs(np.log(fast.std(axis=0) / slow.std(axis=0))) < 0.25).all()


def test_means_are_those_of_the_samples() -> None:
    model, rng = GaussianClass(0.25, 1.0, 0.4, 5, 40), np.random.default_rng(1)
    draws = [draw_class(model, rng) for _ in range(2000)]
    clean = np.array([draw.mean_clean for draw in draws])
    noisy = np.array([draw.mean_noisy for draw in draws])
    assert np.abs(clean.mean(axis=0) - model.v).max() < 0.01
    assert np.abs(noisy.mean(axis=0) - model.w).max() < 0.02
    assert clean.std() == pytest.approx(np.sqrt(0.4**2 / 40 + clean.mean(axis=0).var()), rel=0.05)
    assert noisy.std(axis=0) == pytest.approx(np.full(5, 0.4 / np.sqrt(10)), rel=0.08)


taus = st.floats(0.0, 1.0)
angles = st.floats(-math.pi, math.pi)
sigmas = st.floats(0.0, 3.0)
sizes = st.integers(1, 10**6)


@given(taus, angles)
@settings(max_examples=200)
def test_without_noise_the_bound_holds_and_its_norm_is_exact(tau: float, theta: float) -> None:
    v, w = np.array([1.0, 0.0]), np.array([math.cos(theta), math.sin(theta)])
    values, directions = np.linalg.eigh(np.outer(v, v) + tau * np.outer(w, w))
    across = np.array([0.0, math.sin(theta)])
    terms = bound_terms(tau, theta, 0.0, 2, 100, exact=True)
    added = tau * (np.outer(w, w) - np.outer(across, across))
    assert float(terms.pull) == pytest.approx(float(np.linalg.norm(added, 2)), abs=1e-12)
    if values[1] - values[0] > 1e-6:
        sine = float(perturbation(directions[:, 1], v))
        for exact in (True, False):
            assert sine <= float(perturbation_bound(tau, theta, 0.0, 2, 100, exact=exact)) + 1e-9


@given(taus, angles, sigmas, st.integers(2, 5000), sizes, st.floats(1e-6, 0.999))
@settings(max_examples=300)
def test_the_proven_constant_covers_the_gaussian_tails(
    tau: float, theta: float, sigma: float, d: int, n: int, delta: float
) -> None:
    for exact in (True, False):
        tails = perturbation_bound(tau, theta, sigma, d, n, delta=delta, exact=exact)
        simple = perturbation_bound(tau, theta, sigma, d, n, delta=delta, exact=exact, constant=PROVEN)
        assert float(tails) <= float(simple) + 1e-12


@given(taus, angles, sigmas, st.integers(1, 5000), sizes)
@settings(max_examples=200)
def test_a_bound_is_a_sine_and_exact_norms_only_help(
    tau: float, theta: float, sigma: float, d: int, n: int
) -> None:
    loose = perturbation_bound(tau, theta, sigma, d, n)
    exact = perturbation_bound(tau, theta, sigma, d, n, exact=True)
    assert 0 <= float(exact) <= float(loose) <= 1
    assert bool(loose.vacuous) == (float(loose) == 1.0)
    assert float(perturbation_bound(tau, theta + math.pi, sigma, d, n)) == pytest.approx(float(loose), abs=1e-9)


@pytest.mark.parametrize(("tau", "theta"), [(1.0, math.pi / 2), (0.33, math.atan(1 / 3)), (0.6, 0.0)])
def test_vacuous_where_nothing_is_said(tau: float, theta: float) -> None:
    for form in ("printed", "corrected"):
        bound = perturbation_bound(tau, theta, 0.01, 8, 10**6, form=form)
        assert bound.vacuous and float(bound) == 1.0


def test_the_noise_of_gram_matrices_stays_below_its_tail() -> None:
    model, rng = GaussianClass(0.3, 1.1, 0.4, 12, 150), np.random.default_rng(3)
    n, m = model.n_clean, model.n_noisy
    mean = n * np.outer(model.v, model.v) + m * np.outer(model.w, model.w) + (n + m) * 0.4**2 * np.eye(12)
    norms = []
    for _ in range(300):
        z = np.repeat([model.v, model.w], [n, m], axis=0) + 0.4 * rng.standard_normal((n + m, 12))
        norms.append(np.linalg.norm(z.T @ z - mean, 2) / n)
    ratio, sigma, d, clean = (np.asarray(value, dtype=np.float64) for value in (model.ratio, 0.4, 12, n))
    tail = float(gaussian_error(ratio, sigma, d, clean, delta=0.05))
    assert max(norms) < tail < 5 * max(norms)  # it holds, and it is not a giant


def test_the_corrected_bound_holds_on_the_grid_and_the_printed_one_does_not() -> None:
    run = run_theorem1("smoke", seed=1)
    assert run.numbers["corrected_violated"] == run.numbers["exact_violated"] == 0
    assert all(cell["corrected_fails"] == cell["exact_fails"] == 0 for cell in run.cells)
    assert run.numbers["printed_violated"] >= 10
    # It fails where wrong labels do no harm by themselves, and only noise is left to turn u.
    upright = [cell for cell in run.cells if cell["theta"] == pytest.approx(math.pi / 2)]
    assert all(cell["printed_fails"] > DELTA for cell in upright if cell["sigma"] < 0.1)
    assert run.numbers["corrected_vacuous"] < run.numbers["cells"] / 2  # the promise is not an empty one


def test_no_constant_saves_the_printed_form() -> None:
    models = [GaussianClass(0.2, math.pi / 2, sigma, 32, 1000) for sigma in (0.2, 0.02, 0.002)]
    cells = simulate_theorem1(models, draws=30)
    needs = [cell.printed_needs for cell in cells]
    assert needs[1] > 6 * needs[0] and needs[2] > 8 * needs[1]  # like 1/σ
    assert max(cell.corrected_needs for cell in cells) < 1.5 * min(cell.corrected_needs for cell in cells)
    assert max(cell.corrected_needs for cell in cells) < PROVEN


def test_the_constant_needed_is_just_enough() -> None:
    setting = tuple(np.array([value]) for value in (0.2, 1.5, 0.1, 128.0, 2000.0))
    for form in ("printed", "corrected"):
        constant = float(constant_needed(np.array([0.3]), setting, form)[0])
        exact = form == "corrected"
        bound = perturbation_bound(*setting, form=form, constant=constant, exact=exact)
        assert float(bound.value[0]) == pytest.approx(0.3)


def test_equal_seeds_give_equal_runs() -> None:
    assert run_theorem1("smoke", seed=3).cells == run_theorem1("smoke", seed=3).cells
    assert run_theorem1("smoke", seed=3).cells != run_theorem1("smoke", seed=4).cells


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tau": -0.1}, "tau must be at least 0, got -0.1"),
        ({"sigma": math.nan}, "sigma must be at least 0, got nan"),
        ({"theta": math.inf}, "theta must be finite, got inf"),
        ({"d": 0}, "d must be at least 1, got 0"),
        ({"n_clean": 0}, "n_clean must be at least 1, got 0"),
        ({"delta": 1.0}, "delta must be between 0 and 1, got 1.0"),
        ({"constant": 0.0}, "constant must be above 0, got 0"),
        ({"form": "tight"}, "form must be one of corrected, printed, got 'tight'"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidOption, match=f"^perturbation_bound: {words}"):
        perturbation_bound(**{**dict(zip(NAMES, KNOWN, strict=True)), **change})  # type: ignore[arg-type]


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(InvalidOption, match="theorem1: profile must be one of paper, small, smoke, got 'big'"):
        run_theorem1("big")
