"""Fixed views: neighbours and trees never use labels of a row's own fold, nor of a second one where it must not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eigenclean.arrays import Array, Float64s, Floats, Ints
from eigenclean.detect.folds import content_folds
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.judge.row_maps import StandardizedColumns
from eigenclean.detect.judge.views import FIXED_VIEWS, VIEWS, neighbours, trees
from eigenclean.detect.judge.views.base import FixedScores, FixedView, LabelledRows, ViewScores, centred
from eigenclean.detect.judge.views.neighbours import N_NEIGHBOURS, NeighbourView
from eigenclean.detect.judge.views.probabilities import ProbabilityView
from eigenclean.detect.judge.views.selection import check_views, fitting_views
from eigenclean.detect.judge.views.trees import TreeView
from eigenclean.errors import InvalidOption

N, K, FOLDS = 300, 3, 5


def labelled(
    features: Array | None = None, codes: Ints | None = None, weight: Float64s | None = None, n_folds: int = FOLDS
) -> LabelledRows:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(N, 4)) if features is None else features
    codes = rng.integers(0, K, len(features)) if codes is None else codes
    row_map = StandardizedColumns.of(features)
    return LabelledRows(features, codes, content_folds(features, n_folds), weight, K, n_folds, row_map)


def scores_of(view: type[FixedView], rows: LabelledRows) -> tuple[Floats, Floats]:
    scores = view.fit(rows).scores(rows.features, rows.folds, nested=True)
    assert scores.nested is not None
    return scores.table, scores.nested


def votes_by_loops(rows: LabelledRows, left_out: set[int], row: int) -> Array:
    """Votes of the nearest rows of other folds, one row at a time."""
    Z = rows.row_map.apply(rows.features)
    near = np.argsort(((Z - Z[row]) ** 2).sum(axis=1), kind="stable")[: neighbours._SEARCHED]
    allowed = [other for other in near if rows.folds[other] not in left_out][:N_NEIGHBOURS]
    votes = np.zeros(K)
    for other in allowed:
        votes[rows.codes[other]] += 1.0 if rows.weight is None else rows.weight[other]
    votes += rows.class_shares + 0.02
    return np.asarray(np.log(votes) - np.log(votes).mean())


@pytest.mark.parametrize("view", [NeighbourView, TreeView])
class TestNoLeak:
    def test_scores_of_a_fold_do_not_depend_on_its_labels(self, view: type[FixedView]) -> None:
        rows = labelled()
        table, nested = scores_of(view, rows)
        for fold in range(FOLDS):
            inside = np.flatnonzero(rows.folds == fold)
            codes = rows.codes.copy()
            codes[inside] = np.roll(codes[inside], 7)  # class shares stay as they are
            assert (codes != rows.codes).any()
            changed_table, changed_nested = scores_of(view, replace(rows, codes=codes))
            np.testing.assert_array_equal(changed_table[inside], table[inside])
            np.testing.assert_array_equal(changed_nested[fold], nested[fold])
            outside = rows.folds != fold
            assert (changed_table[outside] != table[outside]).any()

    def test_rows_of_the_outer_fold_have_their_ordinary_scores(self, view: type[FixedView]) -> None:
        rows = labelled()
        table, nested = scores_of(view, rows)
        assert nested.shape == (FOLDS, N, K)
        for fold in range(FOLDS):
            inside = rows.folds == fold
            np.testing.assert_allclose(nested[fold][inside], table[inside], atol=1e-6)
            assert (nested[fold][~inside] != table[~inside]).any()

    def test_random_labels_are_not_predicted(self, view: type[FixedView]) -> None:
        rows = labelled()
        table, nested = scores_of(view, rows)
        for each in (table, *nested):
            assert np.mean(each.argmax(axis=1) == rows.codes) < 0.45
            np.testing.assert_allclose(each.mean(axis=1), 0, atol=1e-5)

    def test_copies_do_not_vote_for_each_other(self, view: type[FixedView]) -> None:
        """Each row comes three times with the same label, which says nothing about other rows."""
        rng = np.random.default_rng(1)
        features, codes = np.repeat(rng.normal(size=(N, 4)), 3, axis=0), np.repeat(rng.integers(0, K, N), 3)
        table, _ = scores_of(view, labelled(features, codes))
        assert np.mean(table.argmax(axis=1) == codes) < 0.45

    def test_labels_that_can_be_predicted_are(self, view: type[FixedView]) -> None:
        rng = np.random.default_rng(1)
        codes = rng.integers(0, K, N)
        rows = labelled(4 * np.eye(4)[codes] + rng.normal(size=(N, 4)), codes)
        for each in (scores_of(view, rows)[0], *scores_of(view, rows)[1]):
            assert np.mean(each.argmax(axis=1) == codes) > 0.95

    def test_new_rows_in_pieces(self, view: type[FixedView]) -> None:
        rows = labelled()
        fitted = view.fit(rows)
        features = np.random.default_rng(2).normal(size=(50, 4))
        folds = content_folds(features, FOLDS)
        whole = fitted.scores(features, folds)
        assert whole.nested is None and whole.table.dtype == np.float32
        pieces = [fitted.scores(features[piece], folds[piece]).table for piece in (slice(0, 1), slice(1, 50))]
        np.testing.assert_allclose(np.concatenate(pieces), whole.table, atol=1e-6)

    def test_a_class_that_no_other_fold_has(self, view: type[FixedView]) -> None:
        rows = labelled()
        codes = rows.codes % 2
        codes[0] = 2
        table, nested = scores_of(view, replace(rows, codes=codes))
        assert np.isfinite(table).all() and np.isfinite(nested).all()
        assert (table[:, 2] < table[:, :2].max(axis=1)).all()


class TestNeighbours:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_equals_loops(self, weighted: bool) -> None:
        weight = np.random.default_rng(3).integers(1, 4, N) / 2.0 if weighted else None
        rows = labelled(weight=weight)
        table, nested = scores_of(NeighbourView, rows)
        for row in range(0, N, 7):
            fold = int(rows.folds[row])
            np.testing.assert_allclose(table[row], votes_by_loops(rows, {fold}, row), atol=1e-5)
            for outer in range(FOLDS):
                np.testing.assert_allclose(nested[outer][row], votes_by_loops(rows, {fold, outer}, row), atol=1e-5)

    def test_labels_of_weight_zero_do_not_vote(self) -> None:
        rng = np.random.default_rng(4)
        weight = (rng.random(N) < 0.7).astype(np.float64)
        rows = labelled(weight=weight)
        codes = np.where(weight > 0, rows.codes, (rows.codes + 1) % K)
        for ours, theirs in zip(
            scores_of(NeighbourView, rows), scores_of(NeighbourView, replace(rows, codes=codes)), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)

    def test_rows_of_weight_zero_take_no_places(self) -> None:
        weight = (np.arange(N) % 4 == 0).astype(np.float64)
        rows = labelled(weight=weight)
        kept = np.flatnonzero(weight)
        subset = replace(
            rows, features=rows.features[kept], codes=rows.codes[kept], folds=rows.folds[kept], weight=None
        )
        ours = NeighbourView.fit(rows).scores(rows.features, rows.folds)
        expected = NeighbourView.fit(subset).scores(rows.features, rows.folds)
        np.testing.assert_allclose(ours.table, expected.table, atol=1e-5)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_neighbours_of_many_rows_are_searched_among_a_sample(
        self, monkeypatch: pytest.MonkeyPatch, weighted: bool
    ) -> None:
        monkeypatch.setattr(neighbours, "MAX_SEARCHED_ROWS", 120)
        weight = (np.arange(N) % 4 > 0).astype(np.float64) if weighted else None
        rows = labelled(weight=weight)
        fitted = NeighbourView.fit(rows)
        searched = fitted._rows
        assert len(searched.codes) == 120 and (searched.weight is None or searched.weight.all())
        subset = NeighbourView.fit(replace(searched, weight=None))
        ours, expected = (
            view.votes(view.scores(rows.features, rows.folds).table.astype(np.float64)) for view in (fitted, subset)
        )
        np.testing.assert_allclose(ours, expected, atol=1e-4)
        np.testing.assert_allclose(ours.sum(axis=1), N_NEIGHBOURS, atol=1e-3)

    def test_the_sample_does_not_depend_on_the_order_of_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(neighbours, "MAX_SEARCHED_ROWS", 120)
        rng = np.random.default_rng(6)
        codes, order = rng.integers(0, K, N), rng.permutation(N)
        features = 2 * np.eye(4)[codes] + rng.normal(size=(N, 4))
        judge = Judge(views="linear,neighbours", n_repeats=1)
        first, second = judge.fit_judge(features, codes), judge.fit_judge(features[order], codes[order])
        np.testing.assert_allclose(first.p_clean[order], second.p_clean, atol=1e-6)

    def test_wide_rows_are_projected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With as many components as columns, a projection is a rotation, and distances stay."""
        monkeypatch.setattr(neighbours, "MAX_DIMENSIONS", 39)
        rng = np.random.default_rng(5)
        features = rng.normal(size=(N, 20)) @ rng.normal(size=(20, 40))  # rank 20
        rows = labelled(features)
        table, _ = scores_of(NeighbourView, rows)
        for row in range(0, N, 20):
            expected = votes_by_loops(rows, {int(rows.folds[row])}, row)
            np.testing.assert_allclose(table[row], expected, atol=1e-4)

    def test_fewer_rows_than_neighbours(self) -> None:
        rows = labelled(np.random.default_rng(0).normal(size=(9, 2)), np.arange(9) % K)
        table, nested = scores_of(NeighbourView, rows)
        assert np.isfinite(table).all() and np.isfinite(nested).all()


class MemorisingForest:
    """A forest that remembers which rows it has seen, by the number in their first column."""

    classes_ = np.array([0, 1])  # seen, not seen
    seen: Array

    def __init__(self, *args: Any, **options: Any) -> None:
        pass

    def fit(self, X: Array, y: Ints, sample_weight: Float64s | None = None) -> "MemorisingForest":
        self.seen = X[:, 0]
        return self

    def predict_proba(self, X: Array) -> Array:
        seen = np.isin(X[:, 0], self.seen)
        return np.stack([seen, ~seen], axis=1).astype(np.float64)


def forests_of(fitted: TreeView) -> dict[tuple[int, int], Any]:
    return dict(fitted._forests)


class TestTrees:
    def test_forests_have_seen_neither_fold(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sklearn.ensemble.ExtraTreesClassifier", MemorisingForest)
        rows = labelled()
        fitted = TreeView.fit(rows)
        assert set(forests_of(fitted)) == {(f, g) for f in range(FOLDS) for g in range(f + 1, FOLDS)}
        for (first, second), forest in forests_of(fitted).items():
            kept = (rows.folds != first) & (rows.folds != second)
            np.testing.assert_array_equal(forest.seen, rows.features[kept, 0])
        for table in (fitted.scores(rows.features, rows.folds).table, *scores_of(TreeView, rows)[1]):
            assert (table[:, 1] > table[:, 0] + 1).all()  # "not seen" for every row, in every table

    def test_the_table_is_the_mean_over_the_second_fold(self) -> None:
        rows = labelled()
        fitted = TreeView.fit(rows)
        table, nested = scores_of(TreeView, rows)

        def log(p: Array) -> Floats:
            return centred(np.log(0.97 * p + 0.03 * rows.class_shares))

        for row in range(0, N, 50):
            fold = int(rows.folds[row])
            forests = {
                other: fitted._forests[min(fold, other), max(fold, other)].predict_proba(rows.features[[row]])
                for other in range(FOLDS)
                if other != fold
            }
            np.testing.assert_allclose(table[[row]], log(np.mean(list(forests.values()), axis=0)), atol=1e-4)
            for other, p in forests.items():
                np.testing.assert_allclose(nested[other][[row]], log(p), atol=1e-4)

    def test_rows_of_weight_zero_are_left_out(self) -> None:
        weight = (np.arange(N) % 3 > 0).astype(np.float64)
        rows = labelled(weight=weight)
        codes = np.where(weight > 0, rows.codes, (rows.codes + 1) % K)
        ours, theirs = scores_of(TreeView, rows), scores_of(TreeView, replace(rows, codes=codes))
        np.testing.assert_array_equal(ours[0], theirs[0])

    def test_many_rows_are_sampled_for_each_tree(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(trees, "MAX_TREE_ROWS", 60)
        rng = np.random.default_rng(1)
        codes = rng.integers(0, K, N)
        rows = labelled(4 * np.eye(4)[codes] + rng.normal(size=(N, 4)), codes)
        fitted = TreeView.fit(rows)
        assert all(forest.max_samples == 60 and forest.bootstrap for forest in forests_of(fitted).values())
        assert np.mean(fitted.scores(rows.features, rows.folds).table.argmax(axis=1) == codes) > 0.9


class TestProbabilities:
    def test_scores_are_centred_log_probabilities(self) -> None:
        p = np.array([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0]])
        table = ProbabilityView().scores(p, np.zeros(2, dtype=np.intp), nested=True).table
        assert np.isfinite(table).all()
        np.testing.assert_allclose(table[0] - table[0, 2], np.log(p[0] / 0.1), atol=1e-6)
        assert table[1, 0] - table[1, 1] == pytest.approx(np.log(1e6), rel=1e-5)


class TestFixedScores:
    def test_taken_rows(self) -> None:
        rows = labelled()
        views = [NeighbourView.fit(rows), TreeView.fit(rows)]
        scores = FixedScores.of(views, rows.features, rows.folds, nested=True)
        assert (len(scores.tables), len(scores.nested)) == (2, 2)
        for some in (slice(10, 20), np.array([5, 3])):
            taken = scores.take(some)
            for view in range(2):
                np.testing.assert_array_equal(taken.tables[view], scores.tables[view][some])
                np.testing.assert_array_equal(taken.nested[view], scores.nested[view][:, some])
        assert FixedScores.of(views, rows.features, rows.folds).nested == ()

    def test_centred_rows_have_mean_zero(self) -> None:
        table = np.arange(6.0).reshape(2, 3)
        np.testing.assert_array_equal(centred(table), [[-1, 0, 1], [-1, 0, 1]])
        assert table[0, 0] == 0 and ViewScores(table).nested is None


class TestNames:
    def test_order_and_spaces_do_not_matter(self) -> None:
        assert check_views("auto", by="Judge") is None
        for views in ("trees,linear", "linear, trees", " trees , linear,trees"):
            assert check_views(views, by="Judge") == ("linear", "trees")
        for name in VIEWS:
            assert check_views(name, by="Judge") == (name,)

    @pytest.mark.parametrize(
        ("views", "message"),
        [
            ("linar", "'linar'; did you mean 'linear'"),
            ("linear,tree", "'tree'; did you mean 'trees'"),
            ("", "view must be one of"),
            ("linear,", "view must be one of"),
            ("auto,linear", "auto"),
            (None, "views must be names"),
            (["linear"], "views must be names"),
        ],
    )
    def test_bad_names_are_named(self, views: object, message: str) -> None:
        with pytest.raises(InvalidOption, match=message):
            check_views(views, by="Judge")  # type: ignore[arg-type]
        with pytest.raises(InvalidOption, match=message):
            Judge(views=views).fit(np.eye(4), [0, 1, 0, 1])  # type: ignore[arg-type]

    def test_which_views_fit_the_data(self) -> None:
        assert list(fitting_views(1000, 30)) == ["neighbours", "trees"]
        assert list(fitting_views(1000, 1000)) == ["neighbours"]
        assert list(fitting_views(100_000, 30)) == []
        assert set(FIXED_VIEWS) < set(VIEWS)
