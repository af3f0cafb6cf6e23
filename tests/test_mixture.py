"""Mixtures of all classes at once equal scikit-learn's and SciPy's of each class alone."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from eigenclean.arrays import Array, ClassRows, Ints
from eigenclean.mixture import Family, Mixtures, best_two_means, fit_mixtures, gain_of_second


def one_class(n: int) -> ClassRows:
    return ClassRows.of(np.zeros(n, dtype=np.intp), 1)


def together(classes: list[Array], seed: int = 0) -> tuple[Array, ClassRows, Ints]:
    """Scores of several classes in random row order."""
    scores = np.concatenate(classes)
    groups = np.repeat(np.arange(len(classes)), [len(x) for x in classes])
    order = np.random.default_rng(seed).permutation(len(scores))
    return scores[order], ClassRows.of(groups[order], len(classes)), groups[order]


def two_groups(n: int, seed: int, *, low: float = 0.6, high: float = 0.9, share: float = 0.4) -> Array:
    rng = np.random.default_rng(seed)
    noisy = rng.random(n) < share
    return np.where(noisy, rng.normal(low, 0.08, n), rng.normal(high, 0.03, n))


def by_sklearn(x: Array, *, max_iter: int = 100, tol: float = 1e-6, same_start: bool = True) -> Any:
    options: dict[str, Any] = {}
    if same_start:
        centres, _ = best_two_means(x, one_class(len(x)))
        upper = x > centres[0].mean()
        parts = [x[~upper], x[upper]]
        options = {
            "weights_init": [len(half) / len(x) for half in parts],
            "means_init": [[half.mean()] for half in parts],
            "precisions_init": [[[1 / (half.var() + 1e-6)]] for half in parts],
        }
    model = GaussianMixture(2, tol=tol, max_iter=max_iter, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(x[:, None])


class TestGaussian:
    @pytest.mark.parametrize("n", [2, 3, 10, 100, 2000])
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("max_iter", [1, 10, 100])
    def test_equals_scikit_learn_step_by_step(self, n: int, seed: int, max_iter: int) -> None:
        x = two_groups(n, seed)
        mine = fit_mixtures(x, one_class(n), max_iter=max_iter)
        theirs = by_sklearn(x, max_iter=max_iter)
        order = np.argsort(theirs.means_[:, 0])
        assert mine.n_iter[0] == theirs.n_iter_
        np.testing.assert_allclose(mine.weights[0], theirs.weights_[order], rtol=1e-6)
        np.testing.assert_allclose(mine.means[0], theirs.means_[order, 0], rtol=1e-6)
        np.testing.assert_allclose(mine.variances[0], theirs.covariances_[order, 0, 0], rtol=1e-5)
        assert mine.log_likelihood[0] == pytest.approx(theirs.lower_bound_, rel=1e-7)
        grid = np.linspace(0.2, 1.1, 50)
        posterior = mine.posterior(grid, np.zeros(50, dtype=np.intp))
        np.testing.assert_allclose(posterior, theirs.predict_proba(grid[:, None])[:, order[1]], atol=1e-6)

    @pytest.mark.parametrize("seed", range(5))
    def test_equals_scikit_learn_with_its_own_start(self, seed: int) -> None:
        x = two_groups(500, seed)
        mine = fit_mixtures(x, one_class(500), tol=1e-9, max_iter=2000)
        theirs = by_sklearn(x, tol=1e-9, max_iter=2000, same_start=False)
        np.testing.assert_allclose(mine.means[0], np.sort(theirs.means_[:, 0]), atol=1e-4)
        kept = mine.posterior(x, np.zeros(500, dtype=np.intp)) > 0.5
        clean = int(np.argmax(theirs.means_))
        np.testing.assert_array_equal(kept, theirs.predict_proba(x[:, None])[:, clean] > 0.5)

    def test_log_likelihood_by_scipy(self) -> None:
        x = two_groups(300, 0)
        fitted = fit_mixtures(x, one_class(300), tol=1e-12, max_iter=5000)
        (w0, w1), (m0, m1), (s0, s1) = fitted.weights[0], fitted.means[0], np.sqrt(fitted.variances[0])
        density = w0 * stats.norm.pdf(x, m0, s0) + w1 * stats.norm.pdf(x, m1, s1)
        assert fitted.log_likelihood[0] == pytest.approx(np.log(density).mean(), abs=1e-9)
        posterior = w1 * stats.norm.pdf(x, m1, s1) / density
        np.testing.assert_allclose(fitted.posterior(x, np.zeros(300, dtype=np.intp)), posterior, atol=1e-9)

    @pytest.mark.parametrize(("factor", "offset"), [(1e6, 0.0), (1e-6, 1e-3), (1.0, 1e4), (1e-3, -5.0)])
    def test_scale_and_offset_change_nothing_but_the_scale(self, factor: float, offset: float) -> None:
        x = two_groups(400, 1)
        groups = np.zeros(400, dtype=np.intp)
        plain = fit_mixtures(x, one_class(400), regularisation=0.0)
        moved = fit_mixtures(factor * x + offset, one_class(400), regularisation=0.0)
        np.testing.assert_allclose((moved.means - offset) / factor, plain.means, rtol=1e-5)
        np.testing.assert_allclose(moved.variances / factor**2, plain.variances, rtol=1e-5)
        np.testing.assert_allclose(
            moved.posterior(factor * x + offset, groups), plain.posterior(x, groups), atol=1e-5
        )
        assert moved.log_likelihood[0] == pytest.approx(plain.log_likelihood[0] - np.log(factor), abs=1e-5)

    def test_the_weights_are_shares(self) -> None:
        fitted = fit_mixtures(two_groups(400, 2), one_class(400))
        assert fitted.weights.sum() == pytest.approx(1)
        assert fitted.means[0, 0] < fitted.means[0, 1]


@pytest.mark.parametrize("family", ["gaussian", "beta"])
@pytest.mark.parametrize("seed", range(3))
def test_every_round_raises_the_likelihood(family: Family, seed: int) -> None:
    x = two_groups(200, seed, low=0.75, share=0.5)
    values = [
        float(
            fit_mixtures(x, one_class(200), family=family, max_iter=m, tol=0.0, regularisation=0.0).log_likelihood[
                0
            ]
        )
        for m in range(1, 40)
    ]
    if family == "gaussian":
        assert (np.diff(values) >= -1e-12).all()
    else:  # its M-step matches moments, which only nearly maximises; it must still get better on the whole
        assert values[-1] > values[0]


def slow_beta(x: Array, rounds: int) -> tuple[Array, Array, Array]:
    """EM for two beta densities as in the released code, started from the best two clusters."""
    centres, _ = best_two_means(x, one_class(len(x)))
    unit = np.clip((x - x.min()) / (x.max() - x.min()), 1e-4, 1 - 1e-4)
    responsibility = (x > centres[0].mean()).astype(float)
    parameters = np.empty((2, 2))
    for step in range(rounds + 1):
        shares = np.stack([1 - responsibility, responsibility])
        for j, r in enumerate(shares):
            mean = np.sum(r * unit) / r.sum()
            variance = np.sum(r * (unit - mean) ** 2) / r.sum()
            common = mean * (1 - mean) / variance - 1
            parameters[j] = mean * common, (1 - mean) * common
        weights = shares.mean(axis=1)
        if step < rounds:
            densities = [w * stats.beta.pdf(unit, *p) for w, p in zip(weights, parameters, strict=True)]
            responsibility = densities[1] / (densities[0] + densities[1])
    log_density = np.log(sum(w * stats.beta.pdf(unit, *p) for w, p in zip(weights, parameters, strict=True)))
    return weights, parameters, log_density


class TestBeta:
    @pytest.mark.parametrize("seed", range(3))
    def test_equals_a_slow_loop(self, seed: int) -> None:
        x = two_groups(300, seed)
        fitted = fit_mixtures(x, one_class(300), family="beta", max_iter=12, tol=0.0)
        weights, parameters, _ = slow_beta(x, 12)
        np.testing.assert_allclose(fitted.weights[0], weights, rtol=1e-6)
        np.testing.assert_allclose(fitted.natural[0, :, :2] + 1, parameters, rtol=1e-6)
        # The density of the scores, not of the stretched ones, is what the likelihood is about.
        _, _, before = slow_beta(x, 11)
        assert fitted.log_likelihood[0] == pytest.approx(before.mean() - np.log(np.ptp(x)), abs=1e-8)
        groups = np.zeros(300, dtype=np.intp)
        unit = np.clip((x - x.min()) / np.ptp(x), 1e-4, 1 - 1e-4)
        low, high = (w * stats.beta.pdf(unit, *p) for w, p in zip(weights, parameters, strict=True))
        np.testing.assert_allclose(fitted.posterior(x, groups), high / (low + high), atol=1e-6)

    def test_finds_two_beta_densities(self) -> None:
        rng = np.random.default_rng(0)
        x = np.concatenate([rng.beta(3, 9, 2000), rng.beta(30, 3, 3000)])
        fitted = fit_mixtures(x, one_class(5000), family="beta")
        np.testing.assert_allclose(fitted.means[0], [3 / 12, 30 / 33], atol=0.02)
        np.testing.assert_allclose(fitted.weights[0], [0.4, 0.6], atol=0.02)

    def test_any_scale(self) -> None:
        x = two_groups(300, 0)
        groups = np.zeros(300, dtype=np.intp)
        plain = fit_mixtures(x, one_class(300), family="beta").posterior(x, groups)
        moved = fit_mixtures(1e5 * x - 7, one_class(300), family="beta").posterior(1e5 * x - 7, groups)
        np.testing.assert_allclose(moved, plain, atol=1e-6)


FIELDS = ("weights", "means", "variances", "natural", "log_likelihood")


class TestManyClasses:
    @pytest.mark.parametrize("family", ["gaussian", "beta"])
    def test_a_class_does_not_notice_the_others(self, family: Family) -> None:
        sizes = [2, 3, 5000, 17, 40, 1, 900, 0, 33, 5000, 12]
        classes = [two_groups(n, seed) for seed, n in enumerate(sizes)]
        scores, rows, groups = together(classes)
        all_at_once = fit_mixtures(scores, rows, family=family)
        for k, x in enumerate(classes):
            alone = fit_mixtures(x, one_class(len(x)), family=family)
            assert all_at_once.valid[k] == alone.valid[0] == (sizes[k] >= 2)
            if alone.valid[0]:
                assert all_at_once.n_iter[k] == alone.n_iter[0]
                for field in FIELDS:
                    np.testing.assert_allclose(getattr(all_at_once, field)[k], getattr(alone, field)[0], rtol=1e-7)
                np.testing.assert_allclose(
                    np.sort(all_at_once.posterior(scores[groups == k], groups[groups == k])),
                    np.sort(alone.posterior(x, np.zeros(len(x), dtype=np.intp))),
                    atol=1e-9,
                )

    def test_thousands_of_classes_of_unequal_sizes(self) -> None:
        rng = np.random.default_rng(0)
        sizes = rng.integers(0, 60, 4000)
        classes = [two_groups(int(n), seed) for seed, n in enumerate(sizes)]
        scores, rows, groups = together(classes)
        fitted = fit_mixtures(scores, rows, min_samples=10)
        np.testing.assert_array_equal(fitted.valid, sizes >= 10)
        p = fitted.posterior(scores[fitted.valid[groups]], groups[fitted.valid[groups]])
        assert ((p >= 0) & (p <= 1)).all()
        for k in np.flatnonzero(fitted.valid)[::200].tolist():
            alone = fit_mixtures(classes[k], one_class(len(classes[k])))
            np.testing.assert_allclose(fitted.means[k], alone.means[0], rtol=1e-8)

    def test_row_order_is_irrelevant(self) -> None:
        classes = [two_groups(n, n) for n in (50, 80, 20)]
        (a, rows_a, _), (b, rows_b, _) = together(classes, seed=1), together(classes, seed=2)
        np.testing.assert_array_equal(fit_mixtures(a, rows_a).natural, fit_mixtures(b, rows_b).natural)

    def test_no_classes(self) -> None:
        nothing = ClassRows.of(np.array([], dtype=np.intp), 0)
        assert len(fit_mixtures(np.array([]), nothing).valid) == 0
        assert len(best_two_means(np.array([]), nothing)[1]) == 0


@pytest.mark.parametrize("family", ["gaussian", "beta"])
class TestOddClasses:
    def test_too_small_or_constant_is_not_valid(self, family: Family) -> None:
        constant = np.full(50, 0.1) + np.where(np.arange(50) % 2, 1e-17, 0)
        almost = 0.7 + 1e-16 * np.arange(50)
        scores, rows, _ = together(
            [np.array([0.3]), constant, almost, np.zeros(20), np.array([0.5, 0.5]), np.array([1e-300, 0])]
        )
        assert not fit_mixtures(scores, rows, family=family).valid.any()
        assert not best_two_means(scores, rows)[1].any()

    @pytest.mark.parametrize(
        "x",
        [
            np.array([0.2, 0.9]),
            np.array([0.2, 0.9, 0.9]),
            np.repeat([0.2, 0.9], 50),  # two points only: both variances vanish
            np.concatenate([np.full(99, 0.9), [0.1]]),  # one outlier
            np.concatenate([np.full(99, 0.9), [-1e9]]),  # and a far one
            np.array([0.0] * 30 + [1.0] * 30),
            np.array([1e-100, 2e-100, 3e-100]),
        ],
        ids=["two", "three", "two points", "outlier", "far outlier", "ends", "tiny"],
    )
    @pytest.mark.parametrize("regularisation", [1e-6, 0.0])
    def test_degenerate_classes_stay_finite(self, family: Family, x: Array, regularisation: float) -> None:
        fitted = fit_mixtures(x, one_class(len(x)), family=family, regularisation=regularisation)
        groups = np.zeros(len(x), dtype=np.intp)
        assert fitted.valid[0]
        assert np.isfinite(fitted.natural).all()
        for monotone in (True, False):
            p = fitted.posterior(x, groups, monotone=monotone)
            assert ((p >= 0) & (p <= 1)).all()
        if regularisation == 0.0 or abs(x).max() > 1e-3:
            assert (p[x == x.max()] > 0.5).all()
            assert (p[x == x.min()] < 0.5).all()

    @given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
    @settings(max_examples=60)
    def test_any_scores(self, family: Family, values: list[float]) -> None:
        x = np.array(values)
        fitted = fit_mixtures(x, one_class(len(x)), family=family)
        if fitted.valid[0]:
            grid = np.linspace(-0.5, 1.5, 101)
            p = fitted.posterior(grid, np.zeros(101, dtype=np.intp), monotone=True)
            assert ((p >= 0) & (p <= 1)).all()
            assert (np.diff(p) >= -1e-12).all()
            assert fitted.means[0, 0] <= fitted.means[0, 1]


def gaussians(weights: list[float], means: list[float], deviations: list[float]) -> Mixtures:
    """A mixture written down by hand, in the form of the fitted ones."""
    w, m, s = (np.array([values]) for values in (weights, means, deviations))
    natural = np.stack([-0.5 / s**2, m / s**2, np.log(w / (s * np.sqrt(2 * np.pi))) - m**2 / (2 * s**2)], axis=2)
    ones = np.ones(1)
    return Mixtures("gaussian", w, m, s**2, natural, np.array([[0.0, 1.0]]), ones, ones.astype(np.intp), ones > 0)


class TestMonotone:
    def test_the_example_of_the_methods(self) -> None:
        mixture = gaussians([0.6, 0.4], [0.85, 0.96], [0.08, 0.01])
        at, group = np.array([0.97, 1.0]), np.zeros(2, dtype=np.intp)
        np.testing.assert_allclose(mixture.posterior(at, group), [0.91, 0.01], atol=0.005)
        best, beyond = mixture.posterior(at, group, monotone=True)
        assert best == beyond
        assert best >= 0.91

    def test_only_what_lies_beyond_the_turn_changes(self) -> None:
        mixture = gaussians([0.6, 0.4], [0.85, 0.96], [0.08, 0.01])
        grid, group = np.linspace(0.3, 1.2, 901), np.zeros(901, dtype=np.intp)
        plain, held = mixture.posterior(grid, group), mixture.posterior(grid, group, monotone=True)
        turn = int(np.argmax(plain))
        np.testing.assert_allclose(held[:turn], plain[:turn])
        np.testing.assert_allclose(held[turn + 1 :], plain.max(), atol=1e-4)
        assert (np.diff(held) >= 0).all()

    def test_a_broad_clean_component_is_capped_below(self) -> None:
        mixture = gaussians([0.3, 0.7], [0.5, 0.8], [0.01, 0.1])
        grid, group = np.linspace(-1, 1.2, 500), np.zeros(500, dtype=np.intp)
        plain, held = mixture.posterior(grid, group), mixture.posterior(grid, group, monotone=True)
        assert plain[0] > 0.99  # the lowest score would count as clean
        assert held[0] == pytest.approx(plain.min(), abs=1e-4)
        assert (np.diff(held) >= 0).all()

    def test_equal_variances_need_no_help(self) -> None:
        mixture = gaussians([0.5, 0.5], [0.2, 0.8], [0.1, 0.1])
        grid, group = np.linspace(-1, 2, 300), np.zeros(300, dtype=np.intp)
        np.testing.assert_array_equal(mixture.posterior(grid, group), mixture.posterior(grid, group, monotone=True))


class TestTwoMeans:
    @pytest.mark.parametrize("seed", range(3))
    def test_equals_scikit_learn(self, seed: int) -> None:
        x = two_groups(300, seed)
        centres, valid = best_two_means(x, one_class(300))
        theirs = KMeans(2, n_init=3, random_state=0).fit(x[:, None])
        assert valid[0]
        np.testing.assert_allclose(centres[0], np.sort(theirs.cluster_centers_[:, 0]), rtol=1e-6)

    @given(st.lists(st.integers(-50, 50), min_size=2, max_size=14))
    @settings(max_examples=60)
    def test_no_split_is_better(self, values: list[int]) -> None:
        x = np.sort(np.array(values, dtype=float))
        centres, valid = best_two_means(x, one_class(len(x)))
        assert valid[0] == (np.ptp(x) > 0)
        if valid[0]:
            within = np.minimum((x - centres[0, 0]) ** 2, (x - centres[0, 1]) ** 2).sum()
            best = min(len(x[:i]) * x[:i].var() + len(x[i:]) * x[i:].var() for i in range(1, len(x)))
            assert within == pytest.approx(best, abs=1e-9)


class TestGainOfTheSecond:
    def test_agrees_with_aic_of_scikit_learn(self) -> None:
        rng = np.random.default_rng(0)
        for seed in range(10):
            x = rng.normal(0.0, 1.0, 200) if seed % 2 else two_groups(200, seed, low=0.84, share=0.3)
            mixture = fit_mixtures(x, one_class(200), tol=1e-9, max_iter=3000, regularisation=1e-9)
            single = GaussianMixture(1, reg_covar=1e-9).fit(x[:, None]).aic(x[:, None])
            two = -2 * 200 * mixture.log_likelihood[0] + 2 * 5
            gain = gain_of_second(x, one_class(200), mixture)[0]
            assert gain == pytest.approx((single - two) / 200, abs=1e-6)

    def test_one_gaussian_gains_little_and_two_gain_much(self) -> None:
        rng = np.random.default_rng(1)
        classes = [rng.normal(rng.normal(), rng.random() + 0.1, int(rng.integers(300, 3000))) for _ in range(100)]
        scores, rows, _ = together(classes)
        assert np.mean(gain_of_second(scores, rows, fit_mixtures(scores, rows)) < 0.03) > 0.95
        scores, rows, _ = together([two_groups(int(n), n) for n in range(60, 2000, 100)])
        assert (gain_of_second(scores, rows, fit_mixtures(scores, rows)) > 0.1).all()

    def test_classes_that_could_not_be_fitted_gain_nothing(self) -> None:
        scores, rows, _ = together([np.array([0.5]), np.full(30, 0.2), np.array([])])
        assert np.isnan(gain_of_second(scores, rows, fit_mixtures(scores, rows))).all()
