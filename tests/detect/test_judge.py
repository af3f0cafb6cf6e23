"""The judge and its parts: folds by content, out-of-sample discriminants, labels through a transition matrix."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from eigenclean.arrays import Array, Ints
from eigenclean.detect.discriminants import DiscriminantSolver, UnitRows
from eigenclean.detect.folds import content_folds
from eigenclean.detect.judge import Judge
from eigenclean.detect.noisy_labels import NoisyLabels, fit_noisy_labels
from eigenclean.errors import InvalidOption
from eigenclean.metrics import score_verdict
from eigenclean.noise import corrupt

X, Y = (np.asarray(part) for part in load_digits(return_X_y=True))


def one_hot(codes: Ints, k: int) -> Array:
    return np.eye(k, dtype=np.float32)[codes]


class TestFolds:
    def test_a_fold_depends_on_the_row_alone(self) -> None:
        folds, order = content_folds(X, 5), np.random.default_rng(0).permutation(len(X))
        np.testing.assert_array_equal(content_folds(X[order], 5), folds[order])
        np.testing.assert_array_equal(content_folds(X[7:8], 5), folds[7:8])
        np.testing.assert_array_equal(content_folds(X.astype(np.float32), 5), folds)
        np.testing.assert_array_equal(content_folds(np.asfortranarray(X), 5), folds)

    def test_folds_are_even_and_copies_stay_together(self) -> None:
        share = np.bincount(content_folds(X, 5), minlength=5) / len(X)
        assert abs(share - 0.2).max() < 0.04
        assert len(set(content_folds(np.repeat(X[:1], 50, axis=0), 5))) == 1
        assert content_folds(np.array([[0.0, 1.0]]), 7) == content_folds(np.array([[-0.0, 1.0]]), 7)

    def test_a_fold_says_nothing_about_the_class(self) -> None:
        folds = content_folds(X, 5)
        counts = np.array([[np.sum((folds == f) & (k == Y)) for k in range(10)] for f in range(5)])
        expected = counts.sum(axis=0) / 5
        assert (((counts - expected) ** 2) / expected).sum() < 80  # chi-square with 36 degrees of freedom


class TestDiscriminants:
    def test_equals_scikit_learn_trained_on_the_other_folds(self) -> None:
        folds = np.arange(len(X)) % 2
        rows = UnitRows.of(X, folds)
        Z = np.concatenate([rows.block(part) for part in rows.parts()]).astype(np.float64)
        sums, counts = rows.class_sums(one_hot(Y, 10), 2)
        solver = DiscriminantSolver(rows.second_moments(None, len(sums)), sums, counts)
        ours = solver.solve(0.1).of(rows)
        for fold in range(2):
            theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1, priors=np.full(10, 0.1))
            theirs.fit(Z[folds != fold], Y[folds != fold])
            values = theirs.decision_function(Z[folds == fold])
            values -= values.mean(axis=1, keepdims=True)
            # Ours has unbiased lengths and a pooled mean of variances, so the two are close, not equal.
            for k in range(10):
                assert np.corrcoef(ours[folds == fold, k], values[:, k])[0, 1] > 0.99
            assert np.mean(ours[folds == fold].argmax(1) == values.argmax(1)) > 0.98

    def test_sums_are_plain_sums(self) -> None:
        rows = UnitRows.of(X, content_folds(X, 3))
        Z = np.concatenate([rows.block(part) for part in rows.parts()])
        np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(Z + rows.centre, axis=1), 1, rtol=1e-5)
        members = np.random.default_rng(0).random((len(X), 10)).astype(np.float32)
        sums, counts = rows.class_sums(members, 3)
        for fold in range(3):
            own = rows.folds == fold
            np.testing.assert_allclose(sums[fold], members[own].T @ Z[own], rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(counts[fold], members[own].sum(axis=0), rtol=1e-5)
        weight = np.arange(len(X)) % 3 / 2
        for fold, second in enumerate(rows.second_moments(weight, 3)):
            own = rows.folds == fold
            np.testing.assert_allclose(second, (Z[own].T * weight[own]) @ Z[own], atol=1e-3)

    def test_random_labels_are_not_predicted(self) -> None:
        """Out of sample means that a row's own label does not get in, not even through the covariance."""
        rng = np.random.default_rng(0)
        noise, codes = rng.normal(size=(600, 500)), rng.integers(0, 3, 600)
        rows = UnitRows.of(noise, content_folds(noise, 5))
        solver = DiscriminantSolver(rows.second_moments(None, 5), *rows.class_sums(one_hot(codes, 3), 5))
        for shrinkage in (0.001, 0.1, 0.9):
            assert np.mean(solver.solve(shrinkage).of(rows).argmax(axis=1) == codes) < 0.42

    def test_more_columns_than_rows(self) -> None:
        wide = np.random.default_rng(0).normal(size=(40, 300))
        rows = UnitRows.of(wide, np.arange(40) % 5)
        sums, counts = rows.class_sums(one_hot(np.arange(40) % 2, 2), 5)
        values = DiscriminantSolver(rows.second_moments(None, len(sums)), sums, counts).solve(0.001).of(rows)
        assert np.isfinite(values).all()

    def test_a_zero_row_stays_finite(self) -> None:
        rows = UnitRows.of(np.zeros((4, 3)), np.zeros(4, dtype=np.intp))
        np.testing.assert_array_equal(rows.block(slice(0, 4)), 0)


class TestNoisyLabels:
    def draw(self, transition: Array, n: int = 20_000, seed: int = 0) -> tuple[Array, Ints, Ints]:
        """Discriminants, given labels, right labels."""
        rng = np.random.default_rng(seed)
        k = len(transition)
        g = 2.0 * rng.normal(size=(n, k))
        g -= g.mean(axis=1, keepdims=True)
        right = (softmax(1.5 * g, axis=1).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
        given = (transition[right].cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
        return g, given, right

    @pytest.mark.parametrize("rate", [0.0, 0.3, 0.75])
    def test_finds_the_transition_matrix_and_the_scale(self, rate: float) -> None:
        transition = (1 - rate) * np.eye(4) + rate / 4
        transition[0] = [0.5, 0.5, 0.0, 0.0] if rate == 0.3 else transition[0]
        g, given, _ = self.draw(transition)
        model = fit_noisy_labels(g, given)
        assert abs(model.transition - transition).max() < (0.05 if rate < 0.5 else 0.1)
        assert model.scale == pytest.approx(1.5, rel=0.25)

    def test_probabilities_are_honest(self) -> None:
        g, given, right = self.draw(0.6 * np.eye(4) + 0.1)
        p = fit_noisy_labels(g, given).posterior(g, given)[np.arange(len(g)), given]
        for low in np.arange(0, 1, 0.2):
            inside = (p >= low) & (p < low + 0.2)
            assert np.mean(right[inside] == given[inside]) == pytest.approx(p[inside].mean(), abs=0.05)

    def test_likelihood_never_falls(self) -> None:
        g, given, _ = self.draw(0.6 * np.eye(4) + 0.1, n=2000)
        model, reached = NoisyLabels.symmetric(g, 0.2), []
        for _ in range(15):
            model = model.improved(g, given, 4)
            reached.append(model.log_likelihood)
        assert (np.diff(reached[1:]) > -1e-4).all()  # the prior of T may cost a trifle

    def test_rows_of_the_matrix_and_posteriors_sum_to_one(self) -> None:
        g, given, _ = self.draw(np.eye(3), n=500)
        model = fit_noisy_labels(g, given)
        np.testing.assert_allclose(model.transition.sum(axis=1), 1)
        np.testing.assert_allclose(model.posterior(g, given).sum(axis=1), 1)


class TestJudge:
    @pytest.mark.parametrize(
        ("rate", "least_f", "least_auroc"), [(0.2, 0.98, 0.99), (0.5, 0.96, 0.98), (0.8, 0.88, 0.92)]
    )
    def test_digits(self, rate: float, least_f: float, least_auroc: float) -> None:
        noisy = corrupt(Y, "symmetric", rate, random_state=1)
        quality = score_verdict(Judge().judge(X, noisy.labels), noisy.truth)
        assert quality.f > least_f
        assert quality.auroc is not None and quality.auroc > least_auroc
        assert quality.ece < 0.06
        assert quality.suggestion_accuracy is not None and quality.suggestion_accuracy > 0.85
        assert quality.estimated_noise_rate == pytest.approx(quality.noise_rate, abs=0.05)

    def test_clean_labels_are_left_alone(self) -> None:
        assert Judge().judge(X, Y).flagged.mean() <= 0.01

    def test_the_transition_matrix_shows_where_labels_went(self) -> None:
        noisy = corrupt(Y, "pair", 0.3, random_state=0)
        judge = Judge().fit(X, noisy.labels)
        for k in range(10):
            row = judge.transition_[k].copy()
            assert row[k] > 0.5
            row[k] = 0
            assert row.argmax() == (k + 1) % 10

    def test_rows_it_has_not_seen(self) -> None:
        noisy = corrupt(Y, "symmetric", 0.2, random_state=0)
        judge = Judge().fit(X[:1400], noisy.labels[:1400])
        verdict = judge.judge(X[1400:], noisy.labels[1400:])
        wrong = noisy.labels[1400:] != Y[1400:]
        assert verdict.flagged[wrong].mean() > 0.85
        assert verdict.flagged[~wrong].mean() < 0.1

    def test_judging_again_in_pieces_changes_nothing(self) -> None:
        noisy = corrupt(Y, "symmetric", 0.2, random_state=0)
        judge = Judge().fit(X, noisy.labels)
        whole = judge.p_clean(X, noisy.labels)
        parts = [judge.p_clean(X[part], noisy.labels[part]) for part in (slice(0, 333), slice(333, None))]
        np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-4)

    def test_a_small_class_is_judged_by_its_samples(self) -> None:
        keep = (Y != 3) | (np.cumsum(Y == 3) <= 12)
        verdict = Judge().judge(X[keep], Y[keep])
        assert verdict.flagged[Y[keep] == 3].mean() < 0.5

    @pytest.mark.parametrize("options", [{"n_folds": 1}, {"rounds": 0}, {"threshold": 2.0}])
    def test_bad_options(self, options: dict[str, float]) -> None:
        with pytest.raises(InvalidOption, match=next(iter(options))):
            Judge(**options).fit(X, Y)  # type: ignore[arg-type]
