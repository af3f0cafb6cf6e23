"""Normalised rows, discriminants out of sample, and candidate classes."""

import pickle
from copy import copy

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from eigenclean.arrays import Array, Ints
from eigenclean.detect.blocks import LocalBlocks
from eigenclean.detect.folds import content_folds
from eigenclean.detect.judge import candidates, discriminants, unit_rows
from eigenclean.detect.judge.candidates import N_CANDIDATES, Candidates
from eigenclean.detect.judge.discriminants import Discriminants, DiscriminantSolver
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.judge.unit_rows import RowNormalizer, UnitRows, scan_block

X, Y = (np.asarray(array) for array in load_digits(return_X_y=True))


def one_hot(codes: Ints, k: int) -> Array:
    return np.eye(k, dtype=np.float32)[codes]


def solver_of(rows: UnitRows, codes: Ints, k: int, n_folds: int) -> tuple[DiscriminantSolver, tuple[Array, Array]]:
    masses = np.bincount(rows.folds, minlength=n_folds).astype(np.float64)
    solver = DiscriminantSolver(rows.second_moments(None, n_folds), masses)
    return solver, rows.class_sums(one_hot(codes, k), n_folds)


def normalizer_of(rows: UnitRows) -> RowNormalizer:
    assert isinstance(rows.normalizer, RowNormalizer)
    return rows.normalizer


def directions(rows: UnitRows) -> Array:
    """All rows in their own order."""
    Z = np.empty((len(rows), rows.n_columns))
    for _, index, block in rows.blocks():
        Z[index] = block
    return Z


class TestUnitRows:
    def test_sums_are_plain_sums(self) -> None:
        rows = UnitRows.of(X, content_folds(X, 3))
        Z = directions(rows)
        np.testing.assert_allclose(
            Z, np.sqrt(X / X.sum(axis=1, keepdims=True)) - normalizer_of(rows).centre, atol=1e-6
        )
        np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-6)
        members = np.random.default_rng(0).random((len(X), 10)).astype(np.float32)
        sums, counts = rows.class_sums(members, 3)
        sparse_sums, sparse_counts = rows.class_sums(csr_array(members), 3)
        np.testing.assert_allclose(sparse_sums, sums, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(sparse_counts, counts, rtol=1e-5)
        for fold in range(3):
            inside = rows.folds == fold
            np.testing.assert_allclose(sums[fold], members[inside].T @ Z[inside], rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(counts[fold], members[inside].sum(axis=0), rtol=1e-5)
        weight = np.arange(len(X)) % 3 / 2
        for fold, second in enumerate(rows.second_moments(weight, 3)):
            inside = rows.folds == fold
            np.testing.assert_allclose(second, (Z[inside].T * weight[inside]) @ Z[inside], atol=1e-3)

    def test_features_with_a_sign_keep_it(self) -> None:
        rows = UnitRows.of(X - 8, content_folds(X, 3))
        assert not normalizer_of(rows).take_roots
        expected = (X - 8) / np.linalg.norm(X - 8, axis=1, keepdims=True) - normalizer_of(rows).centre
        np.testing.assert_allclose(directions(rows), expected, atol=1e-6)

    def test_a_new_negative_value_under_roots_stays_finite(self) -> None:
        form = RowNormalizer.of(X)
        assert form.take_roots
        assert np.isfinite(form.apply(-X[:5])).all()

    def test_rows_that_do_not_fit_are_made_anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kept = directions(UnitRows.of(X, content_folds(X, 3)))
        monkeypatch.setattr(unit_rows, "CACHE_LIMIT", 0)
        np.testing.assert_array_equal(directions(UnitRows.of(X, content_folds(X, 3))), kept)

    @pytest.mark.parametrize("keeps", [True, False])
    def test_rows_that_are_taken_are_not_prepared_again(self, keeps: bool) -> None:
        folds, form = content_folds(X, 3), RowNormalizer.of(X)
        rows, some = UnitRows(X, folds, form, keeps), np.arange(5, len(X), 4)
        expected = directions(rows)[some]
        taken = rows.take(some)
        np.testing.assert_array_equal(directions(taken), expected)
        np.testing.assert_array_equal(taken.folds, folds[some])
        np.testing.assert_array_equal(directions(taken.take(np.array([2, 7]))), expected[[2, 7]])
        assert ("_cache" in vars(rows)) == keeps

    def test_moments_in_one_pass_are_those_of_two(self) -> None:
        rows = UnitRows.of(X, content_folds(X, 3))
        weight, memberships = np.linspace(0.5, 2.0, len(X)), np.eye(10, dtype=np.float32)[np.arange(len(X)) % 10]
        second, sums, counts = np.zeros((3, 64, 64)), np.zeros((3, 10, 64)), np.zeros((3, 10))
        rows.add_moments(second, sums, counts, memberships, weight)
        np.testing.assert_array_equal(second, rows.second_moments(weight, 3))
        for ours, theirs in zip((sums, counts), rows.class_sums(memberships, 3), strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_a_zero_row_stays_where_it_is(self) -> None:
        rows = UnitRows.of(np.zeros((4, 3)), np.zeros(4, dtype=np.intp))
        np.testing.assert_array_equal(directions(rows), 0)

    def test_very_many_columns_are_folded_and_keep_inner_products(self) -> None:
        wide = np.random.default_rng(0).normal(size=(20, 5000))
        folded = unit_rows.hash_columns(wide)
        assert folded.shape == (20, unit_rows.MAX_COLUMNS)
        np.testing.assert_allclose(folded @ folded.T / 5000, wide @ wide.T / 5000, atol=0.15)
        np.testing.assert_array_equal(unit_rows.hash_columns(wide), folded)


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
        result = solver.solve(shrinkage, sums, counts).directions[1]
        second = Z[other].T @ Z[other] / other.sum()
        means = np.stack([Z[other & (k == Y)].mean(axis=0) for k in range(10)])
        share = np.bincount(Y[other]) / other.sum()
        ridge = shrinkage * np.trace(second) / Z.shape[1] * np.eye(Z.shape[1])
        within = (1 - shrinkage) * (second - (means.T * share) @ means) + ridge
        np.testing.assert_allclose(result, np.linalg.solve(within, means.T).T, rtol=2e-3, atol=2e-2)

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
        assert normalizer_of(UnitRows.of(wide, rows.folds)).centre.shape == (207,)

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
        few, table = Candidates.of([(discriminants, rows)], given), discriminants.of(rows)
        assert few.classes.shape == (N_CANDIDATES, 1800)
        np.testing.assert_array_equal(few.classes[few.given_entries], given)
        np.testing.assert_allclose(
            few.values[0], np.take_along_axis(table, few.classes.T, axis=1).T, rtol=1e-4, atol=1e-4
        )
        for row in range(0, 1800, 100):
            best = set(np.argsort(-table[row])[: N_CANDIDATES - 1]) | {given[row]}
            assert set(few.classes[:, row]) >= best or len(best - set(few.classes[:, row])) == 0

    def test_sums_per_class_and_pair_are_those_of_the_whole_table(self) -> None:
        rows, codes, discriminants = self.many()
        few = Candidates.of([(discriminants, rows)], codes)
        table = np.random.default_rng(1).random(few.classes.shape).astype(np.float32)
        whole = few.memberships(table)
        assert not isinstance(whole, np.ndarray)
        np.testing.assert_allclose(few.sum_per_class(table), whole.sum(axis=0), rtol=1e-4)
        pairs = np.zeros((300, 300))
        np.add.at(pairs, (few.classes, codes[None, :]), table)
        np.testing.assert_allclose(few.sum_per_pair(table).counts, pairs.ravel()[few.pair_keys], rtol=1e-4)

    def test_a_pickled_table_of_all_classes_leaves_the_class_numbers_out(self) -> None:
        candidates = Candidates.from_tables([np.zeros((1000, 8), np.float32)], np.zeros(1000, np.intp))
        size = len(pickle.dumps(candidates))
        assert size < candidates.values.nbytes + candidates.given.nbytes + 1000
        again = copy(candidates)  # by the state that is pickled
        np.testing.assert_array_equal(again.classes, candidates.classes)
        np.testing.assert_array_equal(again.given_index, candidates.given_index)

    def test_taken_and_concatenated_rows_are_the_rows(self) -> None:
        rows, codes, discriminants = self.many()
        few = Candidates.of([(discriminants, rows)], codes, is_partial=True)
        halves = [few.take(np.arange(0, 900)), few.take(np.arange(900, 1800))]
        joined = Candidates.concatenate(halves)
        np.testing.assert_array_equal(joined.classes, few.classes)
        np.testing.assert_array_equal(joined.values, few.values)
        assert few.is_partial and not joined.is_partial

    def test_pairs_are_summed_densely_in_partial_blocks(self) -> None:
        rows, codes, discriminants = self.many()
        sparse = Candidates.of([(discriminants, rows)], codes)
        dense = Candidates.of([(discriminants, rows)], codes, is_partial=True)
        assert dense.has_dense_pairs and not sparse.has_dense_pairs
        table = np.random.default_rng(0).random(sparse.classes.shape)
        ours, theirs = sparse.sum_per_pair(table), dense.sum_per_pair(table)
        assert len(theirs.counts) == 300**2
        np.testing.assert_allclose(theirs.counts[ours.keys], ours.counts)
        assert ours.counts.sum() == pytest.approx(theirs.counts.sum())


class TestScan:
    def test_normalizer_of_blocks_is_that_of_all_rows(self) -> None:
        for features in (X, X - 8, np.where(np.arange(len(X))[:, None] < 900, X, X - 8)):
            blocks = LocalBlocks.of([features[:900], features[900:]])
            ours = RowNormalizer.of_blocks(blocks, [scan_block(block).statistics for block in blocks])
            expected = RowNormalizer.of(features)
            assert ours.take_roots == expected.take_roots
            np.testing.assert_allclose(ours.centre, expected.centre, atol=1e-12)

    def test_statistics_of_a_block(self) -> None:
        hashes, statistics = scan_block(X.astype(np.float32))
        assert len(set(hashes.tolist())) == len(np.unique(X, axis=0))
        assert (statistics.n, statistics.width, statistics.itemsize) == (*X.shape, 4)
        assert statistics.nonnegative
        roots = np.sqrt(X / X.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(statistics.direction_sum, roots.sum(axis=0), rtol=1e-5)


class TestProjection:
    """Few rows with many columns: coordinates in the space of the rows give the same discriminants."""

    def test_discriminants_are_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rng = np.random.default_rng(0)
        wide, codes = rng.standard_normal((60, 200)), rng.integers(0, 3, 60)
        folds = content_folds(wide, 3)
        plain = RowNormalizer.of(wide)
        monkeypatch.setattr(unit_rows, "MIN_PROJECTED_COLUMNS", 100)
        projected = plain.projected(LocalBlocks.of([wide]), len(wide))
        assert (plain.n_columns, projected.n_columns) == (200, 60)
        for shrinkage in (0.01, 0.3):
            tables = []
            for normalizer in (plain, projected):
                rows = UnitRows(wide, folds, normalizer)
                masses = np.bincount(folds, minlength=3).astype(float)
                solver = DiscriminantSolver(rows.second_moments(None, 3), masses, plain.n_columns)
                tables.append(solver.solve(shrinkage, *rows.class_sums(one_hot(codes, 3), 3)).of(rows))
            np.testing.assert_allclose(tables[1], tables[0], rtol=1e-8, atol=1e-8)

    def test_matrices_grow_with_the_rows_and_not_with_the_columns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        orders: list[int] = []
        factored = discriminants._factored

        def counted(matrix: Array) -> Array:
            orders.append(len(matrix))
            return factored(matrix)

        monkeypatch.setattr(discriminants, "_factored", counted)
        rng = np.random.default_rng(0)
        codes = rng.integers(0, 3, 80)
        wide = rng.standard_normal((3, 5000))[codes] + 3 * rng.standard_normal((80, 5000))
        codes[:6] = (codes[:6] + 1) % 3
        judge = Judge(views="linear")
        verdict = judge.judge(wide, codes)
        assert max(orders) == 80 and verdict.flagged[:6].mean() > 0.8
        np.testing.assert_allclose(judge.score_samples(wide, codes), verdict.score, rtol=1e-6, atol=1e-6)

    def test_many_rows_are_left_as_they_are(self) -> None:
        plain = RowNormalizer.of(X)
        assert plain.projected(LocalBlocks.of([X]), len(X)) is plain


def test_pairs_are_numbered_without_a_sort_as_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = Candidates(rng.integers(0, 300, (5, 2000)), np.zeros((1, 5, 2000)), rng.integers(0, 300, 2000), 300)
    keys, index = copy(table)._observed_pairs
    monkeypatch.setattr(candidates, "_MAX_PAIR_TABLE", 0)
    sorted_keys, sorted_index = copy(table)._observed_pairs
    np.testing.assert_array_equal(keys, sorted_keys)
    np.testing.assert_array_equal(index, sorted_index)
    assert (keys.dtype, index.dtype) == (sorted_keys.dtype, sorted_index.dtype)
