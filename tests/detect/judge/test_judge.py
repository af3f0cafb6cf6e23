"""The judge and its parts: folds by content, out-of-sample discriminants, labels through a transition matrix."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, softmax
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from eigenclean.arrays import Array, Ints
from eigenclean.detect.folds import content_folds
from eigenclean.detect.judge import candidates as candidates_module
from eigenclean.detect.judge import unit_rows
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.discriminants import Discriminants, DiscriminantSolver
from eigenclean.detect.judge.instance_noise import with_glances
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.judge.noise_model import NoisyLabels, fit_noisy_labels
from eigenclean.detect.judge.unit_rows import RowForm, UnitRows
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


def solver_of(rows: UnitRows, codes: Ints, k: int, n_folds: int) -> tuple[DiscriminantSolver, tuple[Array, Array]]:
    masses = np.bincount(rows.folds, minlength=n_folds).astype(np.float64)
    solver = DiscriminantSolver(rows.second_moments(None, n_folds), masses)
    return solver, rows.class_sums(one_hot(codes, k), n_folds)


def directions(rows: UnitRows) -> Array:
    """All rows in their own order."""
    Z = np.empty((len(rows), len(rows.form.centre)))
    for _, index, block in rows.blocks():
        Z[index] = block
    return Z


class TestUnitRows:
    def test_sums_are_plain_sums(self) -> None:
        rows = UnitRows.of(X, content_folds(X, 3))
        Z = directions(rows)
        np.testing.assert_allclose(Z, np.sqrt(X / X.sum(axis=1, keepdims=True)) - rows.form.centre, atol=1e-6)
        np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-6)
        members = np.random.default_rng(0).random((len(X), 10)).astype(np.float32)
        sums, counts = rows.class_sums(members, 3)
        sparse_sums, sparse_counts = rows.class_sums(csr_array(members), 3)
        np.testing.assert_allclose(sparse_sums, sums, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(sparse_counts, counts, rtol=1e-5)
        for fold in range(3):
            own = rows.folds == fold
            np.testing.assert_allclose(sums[fold], members[own].T @ Z[own], rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(counts[fold], members[own].sum(axis=0), rtol=1e-5)
        weight = np.arange(len(X)) % 3 / 2
        for fold, second in enumerate(rows.second_moments(weight, 3)):
            own = rows.folds == fold
            np.testing.assert_allclose(second, (Z[own].T * weight[own]) @ Z[own], atol=1e-3)

    def test_features_with_a_sign_keep_it(self) -> None:
        rows = UnitRows.of(X - 8, content_folds(X, 3))
        assert not rows.form.rooted
        expected = (X - 8) / np.linalg.norm(X - 8, axis=1, keepdims=True) - rows.form.centre
        np.testing.assert_allclose(directions(rows), expected, atol=1e-6)

    def test_a_new_negative_value_under_roots_stays_finite(self) -> None:
        form = RowForm.of(X)
        assert form.rooted
        assert np.isfinite(form.apply(-X[:5])).all()

    def test_rows_that_do_not_fit_are_made_anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kept = directions(UnitRows.of(X, content_folds(X, 3)))
        monkeypatch.setattr(unit_rows, "KEPT_BYTES", 0)
        np.testing.assert_array_equal(directions(UnitRows.of(X, content_folds(X, 3))), kept)

    def test_a_zero_row_stays_where_it_is(self) -> None:
        rows = UnitRows.of(np.zeros((4, 3)), np.zeros(4, dtype=np.intp))
        np.testing.assert_array_equal(directions(rows), 0)

    def test_very_many_columns_are_folded_and_keep_inner_products(self) -> None:
        wide = np.random.default_rng(0).normal(size=(20, 5000))
        folded = unit_rows.folded_together(wide)
        assert folded.shape == (20, unit_rows.MAX_COLUMNS)
        np.testing.assert_allclose(folded @ folded.T / 5000, wide @ wide.T / 5000, atol=0.15)
        np.testing.assert_array_equal(unit_rows.folded_together(wide), folded)


class TestDiscriminants:
    def test_equals_scikit_learn_trained_on_the_other_folds(self) -> None:
        folds = np.arange(len(X)) % 2
        rows = UnitRows.of(X, folds)
        Z = directions(rows)
        solver, sums = solver_of(rows, Y, 10, 2)
        ours = solver.solve(0.1, *sums).of(rows)
        for fold in range(2):
            theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1, priors=np.full(10, 0.1))
            theirs.fit(Z[folds != fold], Y[folds != fold])
            values = theirs.decision_function(Z[folds == fold])
            values -= values.mean(axis=1, keepdims=True)
            # Ours has unbiased lengths and a pooled mean of variances, so the two are close, not equal.
            for k in range(10):
                assert np.corrcoef(ours[folds == fold, k], values[:, k])[0, 1] > 0.99
            assert np.mean(ours[folds == fold].argmax(1) == values.argmax(1)) > 0.98

    @pytest.mark.parametrize("shrinkage", [0.001, 0.1, 0.9])
    def test_taking_the_means_off_by_formula_or_by_hand(self, shrinkage: float) -> None:
        """Woodbury's formula against the inverse of the within-class covariance, written out."""
        rows = UnitRows.of(X, content_folds(X, 3))
        Z, other = directions(rows), rows.folds != 1
        solver, (sums, counts) = solver_of(rows, Y, 10, 3)
        found = solver.solve(shrinkage, sums, counts).directions[1]
        second = Z[other].T @ Z[other] / other.sum()
        means = np.stack([Z[other & (k == Y)].mean(axis=0) for k in range(10)])
        share = np.bincount(Y[other]) / other.sum()
        ridge = shrinkage * np.trace(second) / Z.shape[1] * np.eye(Z.shape[1])
        within = (1 - shrinkage) * (second - (means.T * share) @ means) + ridge
        np.testing.assert_allclose(found, np.linalg.solve(within, means.T).T, rtol=2e-3, atol=2e-2)

    def test_more_classes_than_columns(self) -> None:
        """Then the covariance is factored anew; the same numbers come out."""
        narrow, codes = X[:, 18:46:4], np.arange(len(X)) % 40
        rows = UnitRows.of(narrow, content_folds(narrow, 2))
        solver, (sums, counts) = solver_of(rows, codes, 40, 2)
        by_factoring = solver.solve(0.1, sums, counts).directions
        wide = np.concatenate(
            [narrow, np.zeros((len(X), 200))], axis=1
        )  # other shrinkage, same trace times 7 / 207
        assert np.isfinite(by_factoring).all()
        assert UnitRows.of(wide, rows.folds).form.centre.shape == (207,)

    def test_random_labels_are_not_predicted(self) -> None:
        """Out of sample means that a row's own label does not get in, not even through the covariance."""
        rng = np.random.default_rng(0)
        noise, codes = rng.normal(size=(600, 500)), rng.integers(0, 3, 600)
        rows = UnitRows.of(noise, content_folds(noise, 5))
        solver, sums = solver_of(rows, codes, 3, 5)
        for shrinkage in (0.001, 0.1, 0.9):
            assert np.mean(solver.solve(shrinkage, *sums).of(rows).argmax(axis=1) == codes) < 0.42

    def test_more_columns_than_rows(self) -> None:
        wide = np.random.default_rng(0).normal(size=(40, 300))
        rows = UnitRows.of(wide, np.arange(40) % 5)
        solver, sums = solver_of(rows, np.arange(40) % 2, 2, 5)
        assert np.isfinite(solver.solve(0.001, *sums).of(rows)).all()


class TestCandidates:
    def many(self) -> tuple[UnitRows, Ints, Discriminants]:
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(300, 20))
        codes = np.repeat(np.arange(300), 6)
        features = centres[codes] + 0.2 * rng.normal(size=(1800, 20))
        rows = UnitRows.of(features, content_folds(features, 3))
        solver, sums = solver_of(rows, codes, 300, 3)
        return rows, codes, solver.solve(0.1, *sums)

    def test_the_best_of_very_many_and_the_given_one(self) -> None:
        rows, codes, discriminants = self.many()
        given = np.roll(codes, 700)  # mostly far from the best
        few, table = Candidates.of(discriminants, rows, given), discriminants.of(rows)
        assert few.classes.shape == (candidates_module.FEW, 1800)
        np.testing.assert_array_equal(few.classes[few.everyone], given)
        np.testing.assert_allclose(
            few.values, np.take_along_axis(table, few.classes.T, axis=1).T, rtol=1e-4, atol=1e-4
        )
        for row in range(0, 1800, 100):
            best = set(np.argsort(-table[row])[: candidates_module.FEW - 1]) | {given[row]}
            assert set(few.classes[:, row]) >= best or len(best - set(few.classes[:, row])) == 0

    def test_sums_per_class_and_pair_are_those_of_the_whole_table(self) -> None:
        rows, codes, discriminants = self.many()
        few = Candidates.of(discriminants, rows, codes)
        table = np.random.default_rng(1).random(few.values.shape).astype(np.float32)
        whole = few.members(table)
        assert not isinstance(whole, np.ndarray)
        np.testing.assert_allclose(few.per_class(table), whole.sum(axis=0), rtol=1e-4)
        pairs = np.zeros((300, 300))
        np.add.at(pairs, (few.classes, codes[None, :]), table)
        np.testing.assert_allclose(few.per_pair(table).counts, pairs.ravel()[few.keys], rtol=1e-4)

    def test_labels_of_very_many_classes_are_judged(self) -> None:
        rng = np.random.default_rng(0)
        centres = rng.normal(size=(260, 24))
        right = np.repeat(np.arange(260), 12)
        features = centres[right] + 0.3 * rng.normal(size=(len(right), 24))
        noisy = corrupt(right, "symmetric", 0.2, random_state=0)
        judge = Judge()
        quality = score_verdict(judge.judge(features, noisy.labels), noisy.truth)
        assert quality.f > 0.97
        assert judge.transition_.shape == (260, 260)
        np.testing.assert_allclose(judge.transition_.sum(axis=1), 1, rtol=1e-6)


def draw(transition: Array, n: int = 20_000, glances: float = 0.0, seed: int = 0) -> tuple[Candidates, Ints, Ints]:
    """Candidates, given labels, right labels, from the model itself with β = 1.5."""
    rng = np.random.default_rng(seed)
    k = len(transition)
    g = 2.0 * rng.normal(size=(n, k))
    g -= g.mean(axis=1, keepdims=True)

    def sample(p: Array) -> Ints:
        return np.asarray((p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1))

    right = sample(softmax(1.5 * g, axis=1))
    given = np.where(rng.random(n) < glances, sample(softmax(0.75 * g, axis=1)), sample(transition[right]))
    return Candidates.everything(g.astype(np.float32), given), given, right


def p_right(model: NoisyLabels, candidates: Candidates) -> Array:
    return np.asarray(model.posterior(candidates)[candidates.everyone])


class TestNoisyLabels:
    @pytest.mark.parametrize("rate", [0.0, 0.3, 0.75])
    def test_finds_the_transition_matrix_and_the_scale(self, rate: float) -> None:
        transition = (1 - rate) * np.eye(4) + rate / 4
        transition[0] = [0.5, 0.5, 0.0, 0.0] if rate == 0.3 else transition[0]
        candidates, _, _ = draw(transition)
        model = fit_noisy_labels(candidates)
        assert abs(model.transition.matrix() - transition).max() < (0.05 if rate < 0.5 else 0.1)
        assert model.scale == pytest.approx(1.5, rel=0.25)

    def test_probabilities_are_honest(self) -> None:
        candidates, given, right = draw(0.6 * np.eye(4) + 0.1)
        p = p_right(fit_noisy_labels(candidates), candidates)
        for low in np.arange(0, 1, 0.2):
            inside = (p >= low) & (p < low + 0.2)
            assert np.mean(right[inside] == given[inside]) == pytest.approx(p[inside].mean(), abs=0.05)

    def test_likelihood_never_falls(self) -> None:
        candidates, _, _ = draw(0.6 * np.eye(4) + 0.1, n=2000)
        model, reached = NoisyLabels.symmetric(candidates, 0.2), []
        for _ in range(15):
            model = model.improved(candidates, 4)
            reached.append(model.log_likelihood)
        assert (np.diff(reached[1:]) > -1e-4).all()  # the prior of T may cost a trifle

    def test_rows_of_the_matrix_and_posteriors_sum_to_one(self) -> None:
        candidates, _, _ = draw(np.eye(3), n=500)
        model = fit_noisy_labels(candidates)
        np.testing.assert_allclose(model.transition.matrix().sum(axis=1), 1)
        np.testing.assert_allclose(model.posterior(candidates).sum(axis=0), 1, rtol=1e-5)

    def test_log_odds_are_those_of_the_posterior(self) -> None:
        candidates, _, _ = draw(0.6 * np.eye(4) + 0.1, n=500, glances=0.2)
        model = with_glances(fit_noisy_labels(candidates), candidates)
        np.testing.assert_allclose(expit(model.log_odds(candidates)), p_right(model, candidates), atol=1e-5)

    def test_a_matrix_looked_up_elsewhere_is_the_same(self) -> None:
        candidates, _, _ = draw(0.6 * np.eye(4) + 0.1, n=500)
        transition = fit_noisy_labels(candidates).transition
        keys = np.array([0, 5, 11])
        np.testing.assert_allclose(transition.at(keys), transition.matrix().ravel()[keys])


class TestGlances:
    def test_labels_given_at_a_glance_are_found_and_honest(self) -> None:
        """Some errors favour a class, which tells of people; the likelihood alone could not tell how many."""
        favoured = 0.9 * np.eye(5) + 0.1 * np.roll(np.eye(5), 1, axis=1)
        candidates, given, right = draw(favoured, glances=0.3)
        plain = fit_noisy_labels(candidates)
        model = with_glances(plain, candidates)
        assert model.glances == pytest.approx(0.3, abs=0.1)
        wrong = given != right
        assert abs(1 - p_right(model, candidates).mean() - wrong.mean()) < 0.02
        assert abs(1 - p_right(plain, candidates).mean() - wrong.mean()) > 0.1

    @pytest.mark.parametrize("rate", [0.0, 0.02, 0.4])
    def test_noise_that_is_anywhere_needs_no_glances(self, rate: float) -> None:
        candidates, given, right = draw((1 - rate) * np.eye(5) + rate / 5)
        model = with_glances(fit_noisy_labels(candidates), candidates)
        assert model.glances <= 0.04
        assert abs(1 - p_right(model, candidates).mean() - np.mean(given != right)) < 0.015

    def test_a_rule_is_not_taken_for_people(self) -> None:
        transition = np.eye(5)
        transition[0, :2] = 0.6, 0.4
        transition[3, 3:] = 0.7, 0.3
        candidates, _, _ = draw(transition)
        assert with_glances(fit_noisy_labels(candidates), candidates).glances <= 0.04

    def test_structure_is_what_goes_beyond_chance(self) -> None:
        even, _, _ = draw(0.8 * np.eye(5) + 0.04)
        assert fit_noisy_labels(even).transition.structure < 0.01
        favoured = 0.8 * np.eye(5) + 0.2 * np.roll(np.eye(5), 1, axis=1)
        candidates, _, _ = draw(favoured)
        found = fit_noisy_labels(candidates).transition
        assert found.structure == pytest.approx(
            0.2 * 3 / 4, abs=0.03
        )  # four wrong classes would get a quarter each
        assert found.noise_rate == pytest.approx(0.2, abs=0.02)


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
