"""Rounds: nested discriminants, corrected class sums, and no way of a label into the scores of its own fold."""

from collections.abc import Sequence

import numpy as np
import pytest

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect.blocks import LocalBlocks
from eigenclean.detect.folds import content_folds, content_hash
from eigenclean.detect.judge import block_statistics
from eigenclean.detect.judge.block_statistics import (
    add_corrections,
    add_moments,
    corrected,
    find_candidates,
    prepare,
    zero_corrections,
    zero_moments,
)
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks, RowSample
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.discriminants import DiscriminantSolver
from eigenclean.detect.judge.instance_noise import AveragedNoiseModel
from eigenclean.detect.judge.noise_model import NoiseModel
from eigenclean.detect.judge.repeats import suggest
from eigenclean.detect.judge.rounds import SHRINKAGES, FittedRound, RoundFitter, neighbours
from eigenclean.detect.judge.row_maps import FourierFeatures, StandardizedColumns
from eigenclean.detect.judge.transition_matrix import TransitionMatrix
from eigenclean.detect.judge.unit_rows import RowMap, UnitRows
from eigenclean.detect.judge.views import FIXED_VIEWS
from eigenclean.detect.judge.views.base import FixedScores, LabelledRows

K, FOLDS, AMOUNT = 3, 4, 0.1
RNG = np.random.default_rng(0)
RIGHT = RNG.integers(0, K, 400)
X = 1.5 * np.eye(6)[RIGHT] + RNG.normal(size=(400, 6))
GIVEN = np.where(RNG.random(400) < 0.25, RNG.integers(0, K, 400), RIGHT)
FOLD = content_folds(X, FOLDS)
BASE = StandardizedColumns.of(X)
KERNEL = FourierFeatures(BASE, 2.0, 40)


class Setting:
    """All that `RoundFitter` needs for these labels, and rounds with a fixed model and shrinkage."""

    def __init__(self, codes: Ints, row_maps: Sequence[RowMap], fixed_views: Sequence[str] = ()) -> None:
        self.codes = codes
        self.rows = prepare(X, content_hash(X), row_maps, FOLDS)
        widths = [row_map.n_columns for row_map in row_maps]
        self.moments = add_moments(zero_moments(FOLDS, K, widths), self.rows, codes, None)
        self.solvers = [DiscriminantSolver(each.second, each.weights) for each in self.moments]
        labelled = LabelledRows(X, codes, FOLD, None, K, FOLDS, BASE)
        views = [FIXED_VIEWS[name].fit(labelled) for name in fixed_views]
        self.fixed = FixedScores.of(views, X, FOLD, nested=True)
        self.fitter = RoundFitter(
            LocalBlocks.of([self.rows]), LocalBlocks.of([codes]), LocalBlocks.of([self.fixed]),
            LocalBlocks.of([None]), self.moments, self.solvers, self.rows, codes,
            RowSample.of(LocalBlocks.of([content_hash(X)]), len(X)), len(X), K,
        )  # fmt: skip

    def candidates(self, sums: Sequence[tuple[Float64s, Float64s]]) -> Candidates:
        discriminants = [solver.solve(AMOUNT, *each) for solver, each in zip(self.solvers, sums, strict=True)]
        return find_candidates(self.rows, self.codes, self.fixed, discriminants, False)

    def given_sums(self) -> list[tuple[Float64s, Float64s]]:
        return [(each.sums, each.counts) for each in self.moments]

    def scores_by_round(self, model: NoiseModel, n_rounds: int = 3) -> list[Array]:
        scores, sums = [], self.given_sums()
        for _ in range(n_rounds):
            candidates = self.candidates(sums)
            scores.append(candidates.values)
            amounts = [AMOUNT] * len(sums)
            last = FittedRound(sums, amounts, [], CandidateBlocks.single(candidates), model, 0.0)
            sums = self.fitter._corrected_sums(last)
        return scores


def model_for(setting: Setting) -> NoiseModel:
    """Some views have a high weight and others a low one; labels are wrong often enough to be corrected."""
    spreads = CandidateBlocks.single(setting.candidates(setting.given_sums())).spreads
    scales = np.linspace(2.0, 1.0, len(spreads)) / np.array(spreads) / len(spreads)
    return NoiseModel(scales, np.zeros(K), TransitionMatrix.symmetric(K, 0.4))


@pytest.mark.parametrize(
    ("row_maps", "fixed_views"),
    [((BASE,), ()), ((BASE, KERNEL), ()), ((BASE, KERNEL), ("neighbours", "trees"))],
    ids=["linear", "linear and kernel", "all views"],
)
def test_labels_of_a_fold_do_not_change_its_scores_in_any_round(
    row_maps: tuple[RowMap, ...], fixed_views: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all rows judged again, given the shrinkage and the noise model: there is no way at all."""
    monkeypatch.setattr(block_statistics, "SUSPECT", 2.0)
    setting = Setting(GIVEN, row_maps, fixed_views)
    model = model_for(setting)
    before = setting.scores_by_round(model)
    assert len(before[0]) == len(row_maps) + len(fixed_views)
    for view in range(len(row_maps)):
        assert abs(before[1][view] - before[0][view]).max() > 0.1  # labels were corrected
    for fold in (0, FOLDS - 1):
        inside = np.flatnonzero(fold == FOLD)
        codes = GIVEN.copy()
        codes[inside] = np.roll(GIVEN[inside], 11)
        after = Setting(codes, row_maps, fixed_views).scores_by_round(model)
        for first, second in zip(before, after, strict=True):
            np.testing.assert_allclose(second[:, :, inside], first[:, :, inside], rtol=1e-4, atol=1e-5)
            assert abs(second[:, :, fold != FOLD] - first[:, :, fold != FOLD]).max() > 0.1


def test_rows_that_are_surely_right_are_not_judged_again() -> None:
    """It saves time and changes next to nothing: the scores are nearly those with all rows judged again."""
    setting = Setting(GIVEN, (BASE,))
    model = model_for(setting)
    some = setting.scores_by_round(model)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_statistics, "SUSPECT", 2.0)
        every = setting.scores_by_round(model)
    for first, second in zip(some, every, strict=True):
        assert np.corrcoef(first.ravel(), second.ravel())[0, 1] > 0.999


class TestNestedDiscriminants:
    @pytest.mark.parametrize("row_map", [BASE, KERNEL], ids=["factored anew", "by Woodbury's formula"])
    @pytest.mark.parametrize("outer", [0, 2])
    def test_are_those_of_the_rows_outside_both_folds(self, row_map: RowMap, outer: int) -> None:
        rows = UnitRows(X, FOLD, row_map)
        memberships = np.eye(K, dtype=np.float32)[GIVEN]
        masses = np.bincount(FOLD, minlength=FOLDS).astype(np.float64)
        solver = DiscriminantSolver(rows.second_moments(None, FOLDS), masses)
        nested = solver.solve_nested(AMOUNT, *rows.class_sums(memberships, FOLDS), outer)
        kept = np.flatnonzero(outer != FOLD)
        subset = rows.take(kept)
        masses[outer] = 0
        scratch = DiscriminantSolver(subset.second_moments(None, FOLDS), masses)
        expected = scratch.solve(AMOUNT, *subset.class_sums(memberships[kept], FOLDS))
        for fold in range(FOLDS):
            if fold == outer:
                assert not nested.directions[fold].any()
                continue
            np.testing.assert_allclose(nested.directions[fold], expected.directions[fold], rtol=1e-6, atol=1e-8)
            # The offsets hold a trace that is much the same for all folds, and computed for one.
            np.testing.assert_allclose(nested.offsets[fold], expected.offsets[fold], rtol=0.05, atol=0.05)

    def test_sums_for_each_fold_that_is_judged(self) -> None:
        setting = Setting(GIVEN, (BASE,))
        (sums, counts), solver = setting.given_sums()[0], setting.solvers[0]
        factors = np.arange(1.0, FOLDS + 1)  # doubling all labels of a fold changes neither means nor shares
        by_fold = np.stack([sums] * FOLDS), np.stack([counts] * FOLDS)
        plain, stacked = solver.solve(AMOUNT, sums, counts), solver.solve(AMOUNT, *by_fold)
        np.testing.assert_array_equal(stacked.directions, plain.directions)
        by_fold[0][1] *= factors[:, None, None]
        by_fold[1][1] *= factors[:, None]
        changed = solver.solve(AMOUNT, *by_fold)
        np.testing.assert_array_equal(changed.directions[[0, 2, 3]], plain.directions[[0, 2, 3]])
        assert (changed.directions[1] != plain.directions[1]).any()

    def test_only_the_folds_that_are_asked_for(self) -> None:
        setting = Setting(GIVEN, (BASE,))
        some = setting.solvers[0].solve(AMOUNT, *setting.given_sums()[0], range(2))
        every = setting.solvers[0].solve(AMOUNT, *setting.given_sums()[0])
        np.testing.assert_array_equal(some.directions[:2], every.directions[:2])
        assert not some.directions[2:].any()

    def test_forgetting_factors_changes_nothing(self) -> None:
        setting = Setting(GIVEN, (KERNEL,))
        solver, sums = setting.solvers[0], setting.given_sums()[0]
        before = {amount: solver.solve(amount, *sums) for amount in SHRINKAGES}
        solver.forget_except(neighbours(0.1))
        for amount, expected in before.items():
            np.testing.assert_array_equal(solver.solve(amount, *sums).directions, expected.directions)


class TestCorrections:
    def corrections(
        self, setting: Setting, model: NoiseModel, index: Ints, weight: Float64s | None = None
    ) -> tuple[Float64s, Float64s]:
        """The corrections by these rows, as one block of several."""
        sums = setting.given_sums()
        nested = [[setting.solvers[0].solve_nested(AMOUNT, *sums[0], outer) for outer in range(FOLDS)]]
        totals = zero_corrections(FOLDS, K, [6])
        rows = tuple(each.take(index) for each in setting.rows)
        candidates = setting.candidates(sums).take(index)
        part_weight = None if weight is None else weight[index]
        return add_corrections(totals, rows, candidates, setting.fixed.take(index), part_weight, nested, model)[0]

    def test_equal_loops(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(block_statistics, "SUSPECT", 2.0)
        setting = Setting(GIVEN, (BASE,))
        model, Z = model_for(setting), BASE.apply(X)
        weight = RNG.integers(0, 4, len(X)) / 2.0
        sums, counts = self.corrections(setting, model, np.arange(len(X)), weight)
        expected_sums, expected_counts = np.zeros_like(sums), np.zeros_like(counts)
        for outer in range(FOLDS):
            nested = setting.solvers[0].solve_nested(AMOUNT, *setting.given_sums()[0], outer)
            table = nested.of(setting.rows[0])
            for row in np.flatnonzero(outer != FOLD):
                posterior = model.posterior(Candidates.from_tables([table[[row]]], GIVEN[[row]]))[:, 0]
                if posterior[GIVEN[row]] <= 0.5:
                    change = weight[row] * (posterior - np.eye(K)[GIVEN[row]])
                    expected_sums[outer, FOLD[row]] += np.outer(change, Z[row])
                    expected_counts[outer, FOLD[row]] += change
        assert abs(expected_counts).max() > 1
        np.testing.assert_allclose(sums, expected_sums, atol=1e-3)
        np.testing.assert_allclose(counts, expected_counts, atol=1e-3)
        np.testing.assert_allclose(counts.sum(axis=2), 0, atol=1e-3)  # memberships move, none is lost

    def test_blocks_add_up(self) -> None:
        setting = Setting(GIVEN, (BASE,))
        model = model_for(setting)
        whole = self.corrections(setting, model, np.arange(400))
        halves = [self.corrections(setting, model, index) for index in np.split(np.arange(400), [150])]
        for total, first, second in zip(whole, *halves, strict=True):
            np.testing.assert_allclose(first + second, total, atol=1e-4)

    def test_nothing_for_the_fold_itself_and_nothing_without_suspects(self) -> None:
        setting = Setting(GIVEN, (BASE,))
        sums, counts = self.corrections(setting, model_for(setting), np.arange(400))
        for fold in range(FOLDS):
            assert not sums[fold, fold].any() and not counts[fold, fold].any()
            assert counts[fold].any()
        trusting = NoiseModel(np.full(1, 1e-3), np.zeros(K), TransitionMatrix.symmetric(K, 0.01))
        assert not self.corrections(setting, trusting, np.arange(400))[1].any()

    def test_a_label_that_is_probably_right_is_kept_as_it_is(self) -> None:
        candidates = Candidates.from_tables([np.zeros((3, 3))], np.array([0, 1, 2]))
        posterior = np.array([[0.6, 0.5, 0.1], [0.3, 0.5, 0.7], [0.1, 0.0, 0.2]])
        expected = np.array([[1.0, 0.5, 0.1], [0.0, 0.5, 0.7], [0.0, 0.0, 0.2]])
        np.testing.assert_array_equal(corrected(posterior, candidates), expected)


def test_suggestions_are_the_most_likely_other_classes() -> None:
    setting = Setting(GIVEN, (BASE,))
    candidates = setting.candidates(setting.given_sums())
    model = AveragedNoiseModel([model_for(setting)], np.ones(1))
    rows = np.array([3, 200, 17, 399])
    classes, shares = suggest([candidates], rows, [model])
    posterior = model.posterior(candidates)
    for row, best, share in zip(rows, classes, shares, strict=True):
        others = [k for k in range(K) if k != GIVEN[row]]
        assert best == max(others, key=lambda k: posterior[k, row])
        assert share == pytest.approx(posterior[best, row] / posterior[others, row].sum(), rel=1e-5)


class TestFit:
    def test_rounds_end_by_themselves_and_gain(self) -> None:
        setting = Setting(GIVEN, (BASE, KERNEL))
        first, n_first = setting.fitter.fit(1)
        last, n_rounds = setting.fitter.fit(40)
        assert n_first == 1 and 1 < n_rounds < 40
        assert last.model.log_likelihood >= first.model.log_likelihood
        assert len(last.shrinkages) == 2 and set(last.shrinkages) <= set(SHRINKAGES)
        assert 0.03 < last.noise_rate < 0.3  # classes overlap, and the rows are few; 15 % are wrong

    def test_without_views_of_moments_there_is_one_round(self) -> None:
        setting = Setting(GIVEN, (), ("neighbours",))
        _, n_rounds = setting.fitter.fit(40)
        assert n_rounds == 1
