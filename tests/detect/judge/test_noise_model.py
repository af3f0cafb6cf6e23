"""The noise model: EM, probabilities and instance-dependent noise, on labels drawn from the model itself."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, softmax

from eigenclean.arrays import Array, Ints
from eigenclean.detect.blocks import LocalBlocks
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.em import (
    EMState,
    expected_statistics,
    fit_noise_model,
    newton_step,
    run_em,
    trial_log_likelihood,
)
from eigenclean.detect.judge.instance_noise import AveragedNoiseModel, average_over_instance_noise, follows
from eigenclean.detect.judge.noise_model import NoiseModel
from eigenclean.detect.judge.transition_matrix import PairCounts, TransitionMatrix

SCALE, SHARPNESS = 1.5, 0.5
SYMMETRIC = 0.6 * np.eye(4) + 0.1


@dataclass(frozen=True)
class Simulation:
    """Discriminants as candidates, given labels and right labels."""

    candidates: Candidates
    given: Ints
    right: Ints

    @property
    def blocks(self) -> CandidateBlocks:
        return CandidateBlocks.single(self.candidates)

    @property
    def noise_rate(self) -> float:
        return float(np.mean(self.given != self.right))

    def p_right(self, model: NoiseModel | AveragedNoiseModel) -> Array:
        return np.asarray(model.posterior(self.candidates)[self.candidates.given_entries])


def noise_rate_range(model: AveragedNoiseModel, blocks: CandidateBlocks, level: float = 0.9) -> tuple[float, float]:
    return model.noise_rate_range(model.posterior_sums(blocks), level)


def overall_transition(model: AveragedNoiseModel, blocks: CandidateBlocks) -> Array:
    return TransitionMatrix.from_counts(model.posterior_sums(blocks).pairs, blocks.n_classes).to_dense()


def simulate(
    transition: Array, n: int = 12_000, instance_noise_rate: float = 0.0, seed: int = 0, spread: float = 2.0
) -> Simulation:
    """Labels with class-conditional noise, and a share of them with instance-dependent noise."""
    rng = np.random.default_rng(seed)
    k = len(transition)
    values = spread * rng.normal(size=(n, k))
    values -= values.mean(axis=1, keepdims=True)

    def sample(p: Array) -> Ints:
        return np.asarray((p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1))

    right = sample(softmax(SCALE * values, axis=1))
    instance_dependent = rng.random(n) < instance_noise_rate
    flat = softmax(SHARPNESS * SCALE * values, axis=1)
    given = np.where(instance_dependent, sample(flat), sample(transition[right]))
    return Simulation(Candidates.from_tables([values.astype(np.float32)], given), given, right)


def with_views(data: Simulation, tables: list[Array]) -> Simulation:
    """The same labels with further views."""
    first = data.candidates.values[0].T
    return replace(data, candidates=Candidates.from_tables([first, *tables], data.given))


def posterior_by_loops(model: NoiseModel, data: Simulation) -> Array:
    """P(y | x, ỹ) by Bayes' theorem, written out row by row."""
    transition = model.transition.to_dense()
    rows = []
    for row, given in enumerate(data.given):
        scores = np.zeros(len(transition))
        for scale, values in zip(model.scales, data.candidates.values.astype(np.float64), strict=True):
            scores += scale * values[:, row]
        prior = softmax(scores + model.offsets)
        instance = softmax(model.sharpness * scores + model.offsets)[given]
        likelihood = (1 - model.instance_noise_rate) * transition[:, given] + model.instance_noise_rate * instance
        rows.append(prior * likelihood / (prior @ likelihood))
    return np.array(rows)


class TestNoiseModel:
    @pytest.mark.parametrize("scales", [[1.2], [0.7, 0.4], [0.0, 2.0]])
    @pytest.mark.parametrize("instance_noise_rate", [0.0, 0.3])
    def test_posterior_is_bayes_theorem(self, instance_noise_rate: float, scales: list[float]) -> None:
        data = simulate(SYMMETRIC, n=60)
        if len(scales) == 2:
            data = with_views(data, [np.random.default_rng(1).normal(size=(60, 4))])
        model = NoiseModel(
            np.array(scales),
            np.array([0.3, -0.2, 0.0, 0.5]),
            TransitionMatrix.symmetric(4, 0.3),
            instance_noise_rate=instance_noise_rate,
        )
        expected = posterior_by_loops(model, data)
        np.testing.assert_allclose(model.posterior(data.candidates).T, expected, rtol=1e-4)
        right = expected[np.arange(60), data.given]
        np.testing.assert_allclose(expit(model.log_odds(data.candidates)), right, rtol=1e-4)

    def test_log_odds_rank_rows_whose_probability_rounds_to_one(self) -> None:
        values = np.array([[60.0, -60.0], [80.0, -80.0]])
        candidates = Candidates.from_tables([values], np.array([0, 0]))
        model = NoiseModel(np.ones(1), np.zeros(2), TransitionMatrix.symmetric(2, 0.2))
        assert (model.posterior(candidates)[0] == 1).all()
        low, high = model.log_odds(candidates)
        assert low < high

    def test_the_candidates_of_few_classes_among_many_give_the_same_as_all(self) -> None:
        """With all probability on the candidates, leaving the other classes out changes nothing."""
        data = simulate(SYMMETRIC, n=50)
        model = NoiseModel(np.ones(1), np.zeros(6), TransitionMatrix.symmetric(6, 0.2))
        values = np.concatenate([data.candidates.values, np.full((1, 2, 50), -1e4, dtype=np.float32)], axis=1)
        complete = Candidates(np.broadcast_to(np.arange(6)[:, None], (6, 50)), values, data.given, 6)
        few = Candidates(complete.classes[:5], values[:, :5], data.given, 6)
        assert not few.has_all_classes
        np.testing.assert_allclose(model.posterior(few), model.posterior(complete)[:5], rtol=1e-5)
        np.testing.assert_allclose(model.log_odds(few), model.log_odds(complete), rtol=1e-5)

    def test_overall_transition_counts_both_kinds_of_noise(self) -> None:
        data = simulate(0.9 * np.eye(4) + 0.025, instance_noise_rate=0.3)
        model = NoiseModel(
            np.array([SCALE]),
            np.zeros(4),
            TransitionMatrix.from_counts(PairCounts(np.arange(16), 1e6 * (0.9 * np.eye(4) + 0.025).ravel()), 4),
            instance_noise_rate=0.3,
            sharpness=SHARPNESS,
        )
        observed = np.zeros((4, 4))
        np.add.at(observed, (data.right, data.given), 1)
        observed /= observed.sum(axis=1, keepdims=True)
        averaged = AveragedNoiseModel([model], np.ones(1))
        np.testing.assert_allclose(overall_transition(averaged, data.blocks), observed, atol=0.02)


class TestEM:
    @pytest.mark.parametrize("rate", [0.0, 0.3, 0.75])
    def test_finds_the_transition_matrix_and_the_scale(self, rate: float) -> None:
        transition = (1 - rate) * np.eye(4) + rate / 4
        transition[0] = [0.5, 0.5, 0.0, 0.0] if rate == 0.3 else transition[0]
        model = fit_noise_model(simulate(transition).blocks)
        assert abs(model.transition.to_dense() - transition).max() < (0.05 if rate < 0.5 else 0.1)
        assert model.scales == pytest.approx([SCALE], rel=0.25)

    def test_probabilities_are_calibrated(self) -> None:
        data = simulate(SYMMETRIC)
        p = data.p_right(fit_noise_model(data.blocks))
        for low in np.arange(0, 1, 0.2):
            inside = (p >= low) & (p < low + 0.2)
            assert np.mean(data.right[inside] == data.given[inside]) == pytest.approx(p[inside].mean(), abs=0.05)

    def test_likelihood_never_falls(self) -> None:
        blocks = simulate(SYMMETRIC, n=2000).blocks
        state = EMState(NoiseModel.symmetric(blocks.spreads, 4, 0.2), 2000, max_iter=60, tol=0.0)
        reached = []
        while not state.done:
            state.update(blocks.total(expected_statistics, args=(state.model, state.updates_transition)))
            reached.append(state.model.log_likelihood)
        assert len(reached) == 60
        assert (np.diff(reached[2:]) > -1e-4).all()  # the prior of T may cost a little

    def test_transition_is_held_fixed_in_the_warmup(self) -> None:
        blocks = simulate(SYMMETRIC, n=500).blocks
        state = EMState(NoiseModel.symmetric(blocks.spreads, 4, 0.2), 500, max_iter=5, warmup=2)
        start = state.model.transition
        for expected in (True, True, False):
            state.update(blocks.total(expected_statistics, args=(state.model, state.updates_transition)))
            assert (state.model.transition is start) == expected

    def test_a_converged_model_is_left_alone(self) -> None:
        blocks = simulate(SYMMETRIC, n=500).blocks
        converged = run_em(NoiseModel.symmetric(blocks.spreads, 4, 0.2), blocks, 500, tol=1e-9)
        again = run_em(converged, blocks, 50, tol=1e-6)
        np.testing.assert_allclose(again.scales, converged.scales, rtol=1e-3)
        np.testing.assert_allclose(again.transition.to_dense(), converged.transition.to_dense(), atol=1e-3)

    def test_statistics_of_blocks_add_up(self) -> None:
        data = simulate(SYMMETRIC, n=400)
        data = with_views(data, [np.random.default_rng(1).normal(size=(400, 4))])
        model = NoiseModel(
            np.array([1.3, 0.2]), np.array([0.1, 0.0, -0.1, 0.2]), TransitionMatrix.symmetric(4, 0.3)
        )
        halves = [replace(data.candidates.take(rows), is_partial=True) for rows in np.split(np.arange(400), 2)]
        split = CandidateBlocks(LocalBlocks.of(halves), 400, 4)
        ours = split.total(expected_statistics, args=(model, True))
        whole = data.blocks.total(expected_statistics, args=(model, True))
        for left, right in zip(ours[:-2], whole[:-2], strict=True):
            np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=1e-5)
        np.testing.assert_allclose(ours.pairs.counts, whole.pairs.counts, rtol=1e-5)
        assert split.spreads == pytest.approx(data.blocks.spreads, rel=1e-5)

    def test_a_trial_tells_better_scores_from_worse(self) -> None:
        data = simulate(SYMMETRIC, n=400)
        rng = np.random.default_rng(1)
        scores = data.candidates.values[0].T
        reached = [
            trial_log_likelihood(Candidates.from_tables([scores + noise * rng.normal(size=(400, 4))], data.given))
            for noise in (0.0, 2.0, 20.0)
        ]
        assert reached == sorted(reached, reverse=True)
        assert reached[2] == pytest.approx(-np.log(4), abs=0.05)  # as good as the shares of the classes

    def test_the_noise_rate_of_very_many_classes(self) -> None:
        """The right class always has the highest score, so that the wrong labels could be counted."""
        rng = np.random.default_rng(0)
        n, k = 1500, 260
        right = rng.integers(0, k, n)
        given = np.where(rng.random(n) < 0.2, rng.integers(0, k, n), right)
        table = rng.normal(size=(n, k)).astype(np.float32)
        table[np.arange(n), right] += 8
        assert (table.argmax(axis=1) == right).mean() > 0.999
        data = Simulation(Candidates.of([], given, [table]), given, right)
        assert not data.candidates.has_all_classes
        model = fit_noise_model(data.blocks)
        assert 1 - data.p_right(model).mean() == pytest.approx(data.noise_rate, abs=0.03)


class TestViews:
    def test_gradient_and_curvature_are_those_of_the_likelihood(self) -> None:
        """With T fixed, Σ (q − p)·g is the derivative of the log-likelihood by β, by differences."""
        data = with_views(simulate(SYMMETRIC, n=300), [np.random.default_rng(1).normal(size=(300, 4))])
        data = replace(data, candidates=replace(data.candidates, values=data.candidates.values.astype(np.float64)))
        model = NoiseModel(np.array([0.8, 0.3]), np.zeros(4), TransitionMatrix.symmetric(4, 0.3))

        def log_likelihood(scales: Array) -> float:
            return expected_statistics(data.candidates, replace(model, scales=scales), False).log_likelihood

        gradient = expected_statistics(data.candidates, model, False).gradient
        for view, step in enumerate(1e-5 * np.eye(2)):
            slope = (log_likelihood(model.scales + step) - log_likelihood(model.scales - step)) / 2e-5
            assert gradient[view] == pytest.approx(slope, rel=1e-4, abs=1e-4)

    def test_newton_steps_reach_the_constrained_maximum(self) -> None:
        """Labels without noise: the likelihood is concave in β, and its maximum over β ≥ 0 has one β at 0."""
        rng = np.random.default_rng(3)
        n, k = 2000, 3
        views = [rng.normal(size=(n, k)) for _ in range(3)]
        views[1] += views[0]
        views[2] *= 50  # the scale of the scores of a view does not matter
        p = softmax(1.2 * views[0] + 0.5 * views[1] - 0.01 * views[2], axis=1)
        given = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
        candidates = Candidates.from_tables(views, given)

        def loss(scales: Array) -> float:
            total = sum(scale * view for scale, view in zip(scales, views, strict=True))
            return -float(np.log(softmax(total, axis=1)[np.arange(n), given]).mean())

        expected = minimize(loss, np.full(3, 0.1), bounds=[(0, None)] * 3, method="L-BFGS-B", tol=1e-12).x
        assert expected[2] == 0
        scales = np.array([0.1, 0.1, 0.1])
        for _ in range(30):
            model = NoiseModel(scales, np.zeros(k), TransitionMatrix.symmetric(k, 1e-4))
            statistics = expected_statistics(candidates, model, False)
            scales = newton_step(scales, statistics.gradient / n, statistics.curvature / n)
            assert (scales >= 0).all()
        np.testing.assert_allclose(scales, expected, atol=2e-3)

    def test_all_scales_never_become_zero(self) -> None:
        scales = np.array([0.5, 0.5])
        for _ in range(5):
            scales = newton_step(scales, np.array([-9.0, -9.0]), np.eye(2))
            assert scales.sum() > 0

    def test_a_useless_view_gets_no_weight(self) -> None:
        data = simulate(SYMMETRIC, n=5000)
        alone = fit_noise_model(data.blocks)
        data = with_views(data, [5 * np.random.default_rng(1).normal(size=(5000, 4))])
        model = fit_noise_model(data.blocks)
        useful, useless = model.scales * data.blocks.spreads
        assert useless < 0.03 * useful
        np.testing.assert_allclose(model.posterior(data.candidates), posterior_of(alone, data), atol=0.1)

    def test_two_views_are_better_than_each(self) -> None:
        """Scores with independent errors: both count, and the labels are more likely than by either alone."""
        data = simulate(SYMMETRIC, n=5000)
        rng = np.random.default_rng(1)
        scores = data.candidates.values[0].T
        tables = [scores + rng.normal(size=scores.shape) for _ in range(2)]
        both = CandidateBlocks.single(Candidates.from_tables(tables, data.given))
        model = fit_noise_model(both)
        shares = model.scales * both.spreads
        assert shares[0] == pytest.approx(shares[1], rel=0.25)
        for table in tables:
            alone = fit_noise_model(CandidateBlocks.single(Candidates.from_tables([table], data.given)))
            assert model.log_likelihood > alone.log_likelihood + 0.01


def posterior_of(model: NoiseModel, data: Simulation) -> Array:
    """By the first view alone."""
    return model.posterior(Candidates.from_tables([data.candidates.values[0].T], data.given))


class TestInstanceNoise:
    @staticmethod
    def averaged(data: Simulation) -> AveragedNoiseModel:
        return average_over_instance_noise(fit_noise_model(data.blocks), data.blocks)

    def test_instance_dependent_errors_are_found(self) -> None:
        """Some errors favour a class, as those of people do."""
        favoured = 0.9 * np.eye(5) + 0.1 * np.roll(np.eye(5), 1, axis=1)
        data = simulate(favoured, instance_noise_rate=0.3)
        model = self.averaged(data)
        assert model.weights.sum() == pytest.approx(1) and (model.weights > 0).all()
        assert len(model.weights) == len(model.models) > 1
        assert model.instance_noise_rate > 0.1
        without = fit_noise_model(data.blocks)
        error, error_without = (abs(1 - data.p_right(each).mean() - data.noise_rate) for each in (model, without))
        assert error < 0.05 and error < error_without

    def test_decisions_tell_that_labels_follow_the_features_more_closely_than_right_ones(self) -> None:
        """As labels by a rule do: they are predicted nearly perfectly, though many are wrong."""
        rng = np.random.default_rng(0)
        values = 2.0 * rng.normal(size=(3000, 4))
        given = (softmax(4 * values, axis=1).cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
        right = (softmax(values, axis=1).cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
        data = Simulation(Candidates.from_tables([values.astype(np.float32)], given), given, right)
        assert 1 - data.p_right(self.averaged(data)).mean() < data.noise_rate - 0.1
        known = np.where(np.arange(3000) < 150, right, -1)
        taught = replace(data, candidates=data.candidates.knowing(known))
        model = self.averaged(taught)
        assert any(follows(each) for each in model.models)
        assert 1 - taught.p_right(model).mean() == pytest.approx(data.noise_rate, abs=0.04)

    @pytest.mark.parametrize("instance_noise_rate", [0.2, 0.3])
    def test_the_range_holds_the_noise_rate(self, instance_noise_rate: float) -> None:
        data = simulate(np.eye(5), 10_000, instance_noise_rate, seed=1)
        low, high = noise_rate_range(self.averaged(data), data.blocks)
        assert low - 0.01 <= data.noise_rate <= high + 0.01
        assert high - low < 0.4

    @pytest.mark.parametrize(("rate", "spread"), [(0.0, 40.0), (0.02, 40.0), (0.4, 40.0), (0.4, 2.0)])
    def test_symmetric_noise_keeps_its_rate(self, rate: float, spread: float) -> None:
        data = simulate((1 - rate) * np.eye(5) + rate / 5, spread=spread)
        model = self.averaged(data)
        assert model.weights.sum() == pytest.approx(1)
        assert abs(1 - data.p_right(model).mean() - data.noise_rate) < 0.015
        low, high = noise_rate_range(model, data.blocks)
        assert low <= 1 - data.p_right(model).mean() <= high

    @pytest.mark.parametrize("rate", [0.0, 0.02])
    def test_where_classes_overlap_the_range_is_wide_and_starts_at_the_truth(self, rate: float) -> None:
        """A quarter of these samples look like another class: errors among them cannot be ruled out."""
        data = simulate((1 - rate) * np.eye(5) + rate / 5)
        model = self.averaged(data)
        assert model.models[0].instance_noise_rate == 0 and model.weights[0] > 0.5
        assert abs(1 - data.p_right(model.models[0]).mean() - data.noise_rate) < 0.005
        low, high = noise_rate_range(model, data.blocks)
        assert abs(low - data.noise_rate) < 0.005
        prior = model.models[0].prior(data.candidates)
        assert high == pytest.approx(1 - np.mean(prior[data.given, np.arange(len(data.given))]), rel=1e-5)

    def test_noise_by_a_rule_is_not_taken_for_instance_dependent(self) -> None:
        transition = np.eye(5)
        transition[0, :2] = 0.6, 0.4
        transition[3, 3:] = 0.7, 0.3
        data = simulate(transition)
        model = self.averaged(data)
        assert model.instance_noise_rate <= 0.04
        np.testing.assert_allclose(overall_transition(model, data.blocks), transition, atol=0.04)

    def test_log_odds_and_probabilities_are_averages(self) -> None:
        data = simulate(SYMMETRIC, n=200)
        start = NoiseModel(np.array([1.2]), np.zeros(4), TransitionMatrix.symmetric(4, 0.3))
        models = [start, replace(start, instance_noise_rate=0.3), replace(start, scales=np.array([0.6]))]
        weights = np.array([0.5, 0.2, 0.3])
        averaged = AveragedNoiseModel(models, weights)
        expected = sum(
            weight * posterior_by_loops(model, data) for weight, model in zip(weights, models, strict=True)
        )
        np.testing.assert_allclose(averaged.posterior(data.candidates).T, expected, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(
            expit(averaged.log_odds(data.candidates)), data.p_right(averaged), rtol=1e-3, atol=1e-6
        )
        assert averaged.instance_noise_rate == pytest.approx(0.06)
        assert averaged.scales == pytest.approx([0.5 * 1.2 + 0.2 * 1.2 + 0.3 * 0.6])

    @pytest.mark.parametrize("n_blocks", [1, 3])
    def test_sums_over_rows_are_those_of_a_loop(self, n_blocks: int) -> None:
        data = simulate(SYMMETRIC, n=150)
        start = NoiseModel(np.array([1.2]), np.zeros(4), TransitionMatrix.symmetric(4, 0.3))
        models, weights = [start, replace(start, instance_noise_rate=0.3)], np.array([0.7, 0.3])
        parts = np.array_split(np.arange(150), n_blocks)
        blocks = LocalBlocks.of([replace(data.candidates.take(rows), is_partial=n_blocks > 1) for rows in parts])
        averaged = AveragedNoiseModel(models, weights)
        sums = averaged.posterior_sums(CandidateBlocks(blocks, 150, 4))
        right, pairs, posteriors = (
            np.zeros(2),
            np.zeros((4, 4)),
            [posterior_by_loops(each, data) for each in models],
        )
        for row, label in enumerate(data.given):
            right += [posterior[row, label] for posterior in posteriors]
            pairs[:, label] += 0.7 * posteriors[0][row] + 0.3 * posteriors[1][row]
        np.testing.assert_allclose(sums.right, right, rtol=1e-4)
        np.testing.assert_allclose(sums.pairs.counts.reshape(4, 4), pairs, rtol=1e-3)
        np.testing.assert_allclose(sums.right_per_class, pairs.diagonal(), rtol=1e-3)
        assert sums.counts.tolist() == np.bincount(data.given).tolist()

    def test_log_odds_rank_where_probabilities_round_to_one(self) -> None:
        candidates = Candidates.from_tables([np.array([[60.0, -60.0], [80.0, -80.0]])], np.array([0, 0]))
        start = NoiseModel(np.ones(1), np.zeros(2), TransitionMatrix.symmetric(2, 0.2))
        averaged = AveragedNoiseModel([start, replace(start, scales=np.full(1, 0.8))], np.array([0.6, 0.4]))
        assert (averaged.posterior(candidates)[0] == 1).all()
        low, high = averaged.log_odds(candidates)
        assert 30 < low < high and np.isfinite(high)

    def test_the_range_is_that_of_the_models_and_of_labels_that_a_new_draw_would_change(self) -> None:
        data = simulate(SYMMETRIC, n=500)
        models = [
            NoiseModel(np.array([1.5]), np.zeros(4), TransitionMatrix.symmetric(4, rate))
            for rate in (0.9, 0.3, 0.5)
        ]
        prior = models[0].prior(data.candidates)
        doubt = float(np.mean([1 - prior[label, row] for row, label in enumerate(data.given)]))
        rates = sorted(1 - data.p_right(model).mean() for model in models)
        assert rates[2] < doubt
        even = AveragedNoiseModel(models, np.array([0.3, 0.3, 0.4]))
        assert noise_rate_range(even, data.blocks) == pytest.approx((rates[0], doubt), rel=1e-4)
        assert noise_rate_range(even, data.blocks, 0.2) == pytest.approx((rates[1], doubt), rel=1e-4)
        certain = AveragedNoiseModel(models, np.array([0.01, 0.01, 0.98]))
        assert noise_rate_range(certain, data.blocks) == pytest.approx((rates[1], doubt), rel=1e-4)
        halves = [replace(data.candidates.take(rows), is_partial=True) for rows in np.split(np.arange(500), 2)]
        split = CandidateBlocks(LocalBlocks.of(halves), 500, 4)
        assert noise_rate_range(even, split) == pytest.approx((rates[0], doubt), rel=1e-4)
