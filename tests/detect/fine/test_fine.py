"""FINE against a slow loop written from the paper, and what must not change its answer."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.mixture import GaussianMixture

from eigenclean import FINE
from eigenclean.arrays import Array, Bools
from eigenclean.detect.cuts import GaussianCut
from eigenclean.detect.fine.fine import PRESETS, SCORES, Score

RELEASED = GaussianCut(monotone=False, split="always", min_samples=2)


def digits() -> tuple[Array, Array]:
    X, y = load_digits(return_X_y=True)
    return np.asarray(X), np.asarray(y)


def noisy_digits(rate: float = 0.3, seed: int = 0) -> tuple[Array, Array, Bools]:
    """Features, given labels, and which labels are wrong."""
    X, y = digits()
    rng = np.random.default_rng(seed)
    wrong = rng.random(len(y)) < rate
    return X, np.where(wrong, (y + rng.integers(1, 10, len(y))) % 10, y), wrong


def slow_fine(X: Array, y: Array, score: Score) -> tuple[Array, Bools]:
    """Scores and what is kept, sample by sample, as the paper and the released code do it."""
    scores = np.empty(len(X))
    kept = np.empty(len(X), dtype=bool)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        u = np.linalg.svd(X[rows], full_matrices=True)[2][0]
        for i in rows:
            z = X[i] / np.linalg.norm(X[i]) if score.endswith("cos") else X[i]
            product = float(np.dot(u, z))
            scores[i] = abs(product) if score.startswith("abs") else product**2
        of_class = scores[rows, None]
        # scikit-learn starts from one k-means run, which may miss the best split; trying every split does not.
        ordered = np.sort(of_class, axis=0)
        parts = min(
            ([ordered[:i], ordered[i:]] for i in range(1, len(ordered))),
            key=lambda pair: sum(len(half) * float(half.var()) for half in pair),
        )
        mixture: Any = GaussianMixture(
            2,
            tol=1e-6,
            max_iter=100,
            random_state=0,
            weights_init=[len(half) / len(of_class) for half in parts],
            means_init=[half.mean(axis=0) for half in parts],
            precisions_init=[[[1 / (half.var() + 1e-6)]] for half in parts],
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(of_class)
        clean = int(np.argmax(mixture.means_[:, 0]))
        for i, posterior in zip(rows, mixture.predict_proba(of_class), strict=True):
            kept[i] = posterior[clean] > 0.5
    return scores, kept


class TestAgainstTheSlowLoop:
    @pytest.mark.parametrize("score", ["abs_cos", "sq_cos", "sq_raw"])
    @pytest.mark.parametrize("rate", [0.2, 0.5])
    def test_scores_and_flags(self, score: Score, rate: float) -> None:
        X, y, _ = noisy_digits(rate)
        expected, kept = slow_fine(X, y, score)
        verdict = FINE(score=score, cut=RELEASED).fit(X, y).judge(X, y)
        np.testing.assert_allclose(verdict.score, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(~verdict.flagged, kept)

    def test_raw_inner_product(self) -> None:
        X, y, _ = noisy_digits()
        np.testing.assert_allclose(
            FINE(score="abs_raw").fit(X, y).score_samples(X, y) ** 2,
            FINE(score="sq_raw").fit(X, y).score_samples(X, y),
            rtol=1e-9,
        )

    def test_learned_attributes(self) -> None:
        X, y, _ = noisy_digits()
        fine = FINE().fit(X, y)
        np.testing.assert_array_equal(fine.classes_, np.arange(10))
        np.testing.assert_array_equal(fine.n_samples_per_class_, np.bincount(y))
        for k in range(10):
            _, singular, right = np.linalg.svd(X[y == k], full_matrices=False)
            assert abs(fine.eigenvectors_[k] @ right[0]) > 1 - 1e-6
            assert fine.eigenvalues_[k] == pytest.approx(singular[0] ** 2)
        assert fine.eigenvectors_.shape == (10, 64)

    @pytest.mark.parametrize("preset", sorted(PRESETS))
    def test_presets_are_names_for_scores(self, preset: Any) -> None:
        X, y, _ = noisy_digits()
        np.testing.assert_array_equal(
            FINE(preset=preset).fit(X, y).score_samples(X, y),
            FINE(score=PRESETS[preset]).fit(X, y).score_samples(X, y),
        )
        assert PRESETS == {"official": "abs_cos", "paper": "sq_raw"}
        other = {"official": "paper", "paper": "official"}[preset]
        np.testing.assert_array_equal(  # an explicit score wins over any preset
            FINE(preset=other, score=PRESETS[preset]).fit(X, y).score_samples(X, y),  # type: ignore[arg-type]
            FINE(preset=preset).fit(X, y).score_samples(X, y),
        )

    def test_mean_vector(self) -> None:
        X, y, _ = noisy_digits()
        fine = FINE(vector="mean").fit(X, y)
        for k in range(10):
            mean = X[y == k].mean(axis=0)
            np.testing.assert_allclose(fine.eigenvectors_[k], mean / np.linalg.norm(mean))
            assert fine.eigenvalues_[k] == pytest.approx(mean @ mean)

    @pytest.mark.parametrize("component", [1, 2, 5])
    def test_other_eigenvectors(self, component: int) -> None:
        X, y, _ = noisy_digits()
        fine = FINE(component=component).fit(X, y)
        for k in range(10):
            _, singular, right = np.linalg.svd(X[y == k], full_matrices=False)
            assert abs(fine.eigenvectors_[k] @ right[component - 1]) == pytest.approx(1)
            assert fine.eigenvalues_[k] == pytest.approx(singular[component - 1] ** 2)

    def test_the_first_eigenvector_and_the_mean_rank_best(self) -> None:
        X, y, wrong = noisy_digits()
        variants = {
            "first": FINE(),
            "mean": FINE(vector="mean"),
            "third": FINE(component=3),
            "paper": FINE(preset="paper"),
        }
        auc = {name: roc_auc_score(~wrong, fine.fit(X, y).score_samples(X, y)) for name, fine in variants.items()}
        assert auc["first"] > 0.93
        assert auc["mean"] > 0.93
        assert auc["third"] < 0.7
        assert auc["first"] > auc["paper"]

    def test_suggestions_are_mostly_right(self) -> None:
        X, y = digits()
        _, given_labels, wrong = noisy_digits()
        verdict = FINE().judge(X, given_labels)
        right = verdict.suggested == y
        assert right[verdict.flagged & wrong].mean() > 0.7
        flagged_wrong = verdict.flagged & wrong
        assert (
            roc_auc_score(right[flagged_wrong], verdict.suggested_confidence[flagged_wrong]) > 0.5
        )  # surer where right


@pytest.fixture(scope="module")
def case() -> tuple[Array, Array, Bools]:
    return noisy_digits()


class TestInvariance:
    def test_row_order(self, case: tuple[Array, Array, Bools]) -> None:
        X, y, _ = case
        order = np.random.default_rng(1).permutation(len(X))
        a, b = FINE().judge(X, y), FINE().judge(X[order], y[order])
        np.testing.assert_allclose(b.score, a.score[order], rtol=1e-9)
        np.testing.assert_allclose(b.p_clean, a.p_clean[order], atol=1e-6)
        np.testing.assert_array_equal(b.suggested, a.suggested[order])

    def test_names_of_the_labels(self, case: tuple[Array, Array, Bools]) -> None:
        X, y, _ = case
        plain = FINE().judge(X, y)
        names = np.array(list("qwertzuiop"))  # not in the order of the numbers
        for renamed, back in (
            (names[y], {name: i for i, name in enumerate(names.tolist())}),
            (-1000 * y, {-1000 * i: i for i in range(10)}),
        ):
            verdict = FINE().judge(X, renamed)
            np.testing.assert_allclose(verdict.score, plain.score, rtol=1e-9)
            np.testing.assert_allclose(verdict.p_clean, plain.p_clean, atol=1e-7)
            np.testing.assert_array_equal(verdict.labels, renamed)
            np.testing.assert_array_equal([back[label] for label in verdict.suggested.tolist()], plain.suggested)

    @pytest.mark.parametrize("score", SCORES)
    def test_sign(self, case: tuple[Array, Array, Bools], score: Score) -> None:
        X, y, _ = case
        fine = FINE(score=score).fit(X, y)
        scores = fine.score_samples(X, y)
        np.testing.assert_allclose(fine.score_samples(-X, y), scores)
        np.testing.assert_allclose(FINE(score=score).fit(-X, y).score_samples(X, y), scores)

    @pytest.mark.parametrize("score", ["abs_cos", "sq_cos"])
    def test_length_of_the_scored_vectors(self, case: tuple[Array, Array, Bools], score: Score) -> None:
        X, y, _ = case
        fine = FINE(score=score).fit(X, y)
        factor = np.random.default_rng(0).uniform(0.01, 100, (len(X), 1))
        np.testing.assert_allclose(fine.score_samples(factor * X, y), fine.score_samples(X, y))
        refitted = FINE(score=score).fit(factor * X, y).score_samples(X, y)
        assert np.abs(refitted - fine.score_samples(X, y)).max() > 1e-4  # but the vectors do depend on it

    @pytest.mark.parametrize("score", SCORES)
    def test_rotation(self, case: tuple[Array, Array, Bools], score: Score) -> None:
        X, y, _ = case
        turn = np.linalg.qr(np.random.default_rng(0).standard_normal((64, 64)))[0]
        np.testing.assert_allclose(
            FINE(score=score).fit(X @ turn, y).score_samples(X @ turn, y),
            FINE(score=score).fit(X, y).score_samples(X, y),
            rtol=1e-7,
        )

    def test_single_precision(self, case: tuple[Array, Array, Bools]) -> None:
        X, y, _ = case
        for d in (64, 200):  # the dense and the iterative way
            wide = np.tile(X, (1, 4))[:, :d]
            double, single = FINE().fit(wide, y), FINE().fit(wide.astype(np.float32), y)
            np.testing.assert_allclose(single.eigenvectors_, double.eigenvectors_, atol=1e-5)
            a, b = double.judge(wide, y), single.judge(wide.astype(np.float32), y)
            np.testing.assert_allclose(b.score, a.score, atol=1e-5)
            assert np.mean(a.flagged != b.flagged) < 0.002

    @pytest.mark.parametrize("layout", ["fortran", "strided", "backwards", "float16", "int8", "uint64", "readonly"])
    def test_layout_and_type(self, case: tuple[Array, Array, Bools], layout: str) -> None:
        X, y, _ = case  # digits are small integers, which all these types hold exactly
        wide = np.zeros((2 * len(X), 3 * 64))
        wide[::2, ::3] = X
        readonly = X.copy()
        readonly.setflags(write=False)
        other = {
            "fortran": np.asfortranarray(X),
            "strided": wide[::2, ::3],
            "backwards": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
            "float16": X.astype(np.float16),
            "int8": X.astype(np.int8),
            "uint64": X.astype(np.uint64),
            "readonly": readonly,
        }[layout]
        a, b = FINE().judge(X, y), FINE().judge(other, y)
        np.testing.assert_allclose(b.score, a.score, atol=1e-5 if layout == "float16" else 1e-12)
        assert np.mean(a.flagged != b.flagged) < 0.002

    def test_labels_in_any_layout(self, case: tuple[Array, Array, Bools]) -> None:
        X, y, _ = case
        expected = FINE().judge(X, y).flagged
        for labels in (np.repeat(y, 2)[::2], y.astype(np.uint8), y.astype(float), y.tolist(), y.astype(object)):
            np.testing.assert_array_equal(FINE().judge(X, labels).flagged, expected)

    def test_classes_do_not_influence_each_other(self, case: tuple[Array, Array, Bools]) -> None:
        # Except in the question whether they have two components, where they share their evidence.
        X, y, _ = case
        whole = FINE(cut=RELEASED).judge(X, y)
        for classes in ([0, 1], [3, 7, 9]):
            some = np.isin(y, classes)
            subset = FINE(cut=RELEASED).judge(X[some], y[some])
            np.testing.assert_allclose(subset.score, whole.score[some], rtol=1e-9)
            np.testing.assert_allclose(subset.p_clean, whole.p_clean[some], atol=1e-7)


class TestTheory:
    """Two Gaussian classes with orthogonal means."""

    @staticmethod
    def two_gaussians(sigma: float, rate: float, seed: int, d: int = 20) -> tuple[Array, Array, Bools]:
        rng = np.random.default_rng(seed)
        truth = np.arange(2000) % 2
        X = np.eye(d)[truth] + sigma * rng.standard_normal((2000, d))
        wrong = rng.random(2000) < rate
        return X, np.where(wrong, 1 - truth, truth), wrong

    def test_perfect_as_the_spread_vanishes(self) -> None:
        values = []
        for sigma in (0.6, 0.3, 0.1, 0.02):
            X, y, wrong = self.two_gaussians(sigma, 0.3, seed=0)
            values.append(f1_score(~wrong, ~FINE().judge(X, y).flagged))
        assert values == sorted(values)
        assert values[-1] == 1.0
        assert values[0] < 0.98

    @pytest.mark.parametrize("rate", [0.1, 0.4])
    def test_the_vector_turns_by_the_predicted_angle(self, rate: float) -> None:
        # Without spread, Σ = (1 − τ) v vᵀ + τ w wᵀ with orthogonal v, w: the first eigenvector is v itself.
        X, y, _ = self.two_gaussians(0.01, rate, seed=1)
        u = FINE().fit(X, y).eigenvectors_
        perturbation = np.sqrt(1 - (u @ np.eye(20)[:, :2]).max(axis=1) ** 2)
        assert (perturbation < 0.02).all()

    def test_perturbation_grows_with_the_spread(self) -> None:
        turns = []
        for sigma in (0.05, 0.2, 0.5):
            X, y, _ = self.two_gaussians(sigma, 0.3, seed=2)
            u = FINE().fit(X, y).eigenvectors_
            turns.append(float(np.sqrt(1 - u[0, 0] ** 2)))
        assert turns == sorted(turns)


class TestCleanClasses:
    def test_real_clean_classes_are_mostly_not_split(self) -> None:
        X, y = digits()
        verdict, released = FINE().judge(X, y), FINE(cut=RELEASED).judge(X, y)
        assert verdict.flagged.mean() < 0.05
        assert released.flagged.mean() > 0.2  # what the decision is for

    def test_real_noise_is_found(self) -> None:
        X, y, wrong = noisy_digits(0.3)
        for cut in (GaussianCut(), RELEASED):
            flagged = FINE(cut=cut).judge(X, y).flagged
            assert flagged[wrong].mean() > 0.85
            assert flagged[~wrong].mean() < 0.35

    def test_clearly_bimodal_classes_are_split(self) -> None:
        rng = np.random.default_rng(0)
        truth = np.arange(1500) % 3
        X = 5 * np.eye(30)[truth] + 0.5 * rng.standard_normal((1500, 30))
        wrong = rng.random(1500) < 0.2
        y = np.where(wrong, (truth + 1) % 3, truth)
        fine = FINE().fit(X, y)
        assert isinstance(fine.cut_, GaussianCut)
        assert (fine.cut_.p_two_ > 0.9).all()
        np.testing.assert_array_equal(fine.judge(X, y).flagged, wrong)
        np.testing.assert_array_equal(fine.judge(X, y).suggested, truth)

    def test_clean_gaussian_classes_are_hardly_ever_split(self) -> None:
        """By chance about one class in a hundred is, so that no single draw can be asked for."""
        y, flagged = np.arange(2000) % 5, []
        for seed in range(40):
            rng = np.random.default_rng(seed)
            X = 4 * rng.standard_normal((5, 16))[y] + rng.standard_normal((2000, 16))
            flagged += np.bincount(y, FINE().judge(X, y).flagged).tolist()
        assert np.mean(np.array(flagged) > 20) <= 0.03  # more than 5 % of the 400 samples of a class
        assert np.sum(flagged) / (40 * 2000) < 0.01
