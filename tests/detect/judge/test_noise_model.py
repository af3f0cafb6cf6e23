"""The noise model: EM, probabilities and instance-dependent noise, on labels drawn from the model itself."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.special import expit, softmax

from eigenclean.arrays import Array, Ints
from eigenclean.detect.blocks import LocalBlocks
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.em import EMState, expected_statistics, fit_noise_model, run_em, trial_log_likelihoods
from eigenclean.detect.judge.instance_noise import fit_instance_noise, human_likeness, log_prior
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

    def p_right(self, model: NoiseModel) -> Array:
        return np.asarray(model.posterior(self.candidates)[self.candidates.given_entries])


def simulate(transition: Array, n: int = 20_000, instance_noise_rate: float = 0.0, seed: int = 0) -> Simulation:
    """Labels with class-conditional noise, and a share of them with instance-dependent noise."""
    rng = np.random.default_rng(seed)
    k = len(transition)
    values = 2.0 * rng.normal(size=(n, k))
    values -= values.mean(axis=1, keepdims=True)

    def sample(p: Array) -> Ints:
        return np.asarray((p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1))

    right = sample(softmax(SCALE * values, axis=1))
    instance_dependent = rng.random(n) < instance_noise_rate
    flat = softmax(SHARPNESS * SCALE * values, axis=1)
    given = np.where(instance_dependent, sample(flat), sample(transition[right]))
    return Simulation(Candidates.from_table(values.astype(np.float32), given), given, right)


def posterior_by_loops(model: NoiseModel, data: Simulation) -> Array:
    """P(y | x, ỹ) by Bayes' theorem, written out row by row."""
    values, transition = data.candidates.values.T.astype(np.float64), model.transition.to_dense()
    rows = []
    for g, given in zip(values, data.given, strict=True):
        prior = softmax(model.scale * g + model.offsets)
        instance = softmax(model.sharpness * model.scale * g + model.offsets)[given]
        likelihood = (1 - model.instance_noise_rate) * transition[:, given] + model.instance_noise_rate * instance
        rows.append(prior * likelihood / (prior @ likelihood))
    return np.array(rows)


class TestNoiseModel:
    @pytest.mark.parametrize("instance_noise_rate", [0.0, 0.3])
    def test_posterior_is_bayes_theorem(self, instance_noise_rate: float) -> None:
        data = simulate(SYMMETRIC, n=60)
        model = NoiseModel(
            1.2,
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
        candidates = Candidates.from_table(values, np.array([0, 0]))
        model = NoiseModel(1.0, np.zeros(2), TransitionMatrix.symmetric(2, 0.2))
        assert (model.posterior(candidates)[0] == 1).all()
        low, high = model.log_odds(candidates)
        assert low < high

    def test_the_candidates_of_few_classes_among_many_give_the_same_as_all(self) -> None:
        """With all probability on the candidates, leaving the other classes out changes nothing."""
        data = simulate(SYMMETRIC, n=50)
        model = NoiseModel(1.0, np.zeros(5), TransitionMatrix.symmetric(5, 0.2))
        values = np.concatenate([data.candidates.values, np.full((1, 50), -1e4, dtype=np.float32)])
        complete = Candidates(np.broadcast_to(np.arange(5)[:, None], (5, 50)), values, data.given, 5)
        few = Candidates(complete.classes[:4], values[:4], data.given, 5)
        assert not few.has_all_classes
        np.testing.assert_allclose(model.posterior(few), model.posterior(complete)[:4], rtol=1e-5)
        np.testing.assert_allclose(model.log_odds(few), model.log_odds(complete), rtol=1e-5)

    def test_overall_transition_counts_both_kinds_of_noise(self) -> None:
        data = simulate(0.9 * np.eye(4) + 0.025, instance_noise_rate=0.3)
        model = NoiseModel(
            SCALE,
            np.zeros(4),
            TransitionMatrix.from_counts(PairCounts(np.arange(16), 1e6 * (0.9 * np.eye(4) + 0.025).ravel()), 4),
            instance_noise_rate=0.3,
            sharpness=SHARPNESS,
        )
        observed = np.zeros((4, 4))
        np.add.at(observed, (data.right, data.given), 1)
        observed /= observed.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.overall_transition(data.blocks).to_dense(), observed, atol=0.02)


class TestEM:
    @pytest.mark.parametrize("rate", [0.0, 0.3, 0.75])
    def test_finds_the_transition_matrix_and_the_scale(self, rate: float) -> None:
        transition = (1 - rate) * np.eye(4) + rate / 4
        transition[0] = [0.5, 0.5, 0.0, 0.0] if rate == 0.3 else transition[0]
        model = fit_noise_model(simulate(transition).blocks)
        assert abs(model.transition.to_dense() - transition).max() < (0.05 if rate < 0.5 else 0.1)
        assert model.scale == pytest.approx(SCALE, rel=0.25)

    def test_probabilities_are_calibrated(self) -> None:
        data = simulate(SYMMETRIC)
        p = data.p_right(fit_noise_model(data.blocks))
        for low in np.arange(0, 1, 0.2):
            inside = (p >= low) & (p < low + 0.2)
            assert np.mean(data.right[inside] == data.given[inside]) == pytest.approx(p[inside].mean(), abs=0.05)

    def test_likelihood_never_falls(self) -> None:
        blocks = simulate(SYMMETRIC, n=2000).blocks
        state = EMState(NoiseModel.symmetric(blocks.spread, 4, 0.2), 2000, max_iter=60, tol=0.0)
        reached = []
        while not state.done:
            state.update(blocks.total(expected_statistics, args=(state.model, state.updates_transition)))
            reached.append(state.model.log_likelihood)
        assert len(reached) == 60
        assert (np.diff(reached[2:]) > -1e-4).all()  # the prior of T may cost a little

    def test_transition_is_held_fixed_in_the_warmup(self) -> None:
        blocks = simulate(SYMMETRIC, n=500).blocks
        state = EMState(NoiseModel.symmetric(blocks.spread, 4, 0.2), 500, max_iter=5, warmup=2)
        start = state.model.transition
        for expected in (True, True, False):
            state.update(blocks.total(expected_statistics, args=(state.model, state.updates_transition)))
            assert (state.model.transition is start) == expected

    def test_a_converged_model_is_left_alone(self) -> None:
        blocks = simulate(SYMMETRIC, n=500).blocks
        converged = run_em(NoiseModel.symmetric(blocks.spread, 4, 0.2), blocks, 500, tol=1e-9)
        again = run_em(converged, blocks, 50, tol=1e-6)
        assert again.scale == pytest.approx(converged.scale, rel=1e-3)
        np.testing.assert_allclose(again.transition.to_dense(), converged.transition.to_dense(), atol=1e-3)

    def test_statistics_of_blocks_add_up(self) -> None:
        data = simulate(SYMMETRIC, n=400)
        model = NoiseModel(1.3, np.array([0.1, 0.0, -0.1, 0.2]), TransitionMatrix.symmetric(4, 0.3))
        halves = [replace(data.candidates.take(rows), is_partial=True) for rows in np.split(np.arange(400), 2)]
        split = CandidateBlocks(LocalBlocks.of(halves), 400, 4)
        ours = split.total(expected_statistics, args=(model, True))
        whole = data.blocks.total(expected_statistics, args=(model, True))
        for left, right in zip(ours[:-2], whole[:-2], strict=True):
            np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=1e-5)
        np.testing.assert_allclose(ours.pairs.counts, whole.pairs.counts, rtol=1e-5)
        assert split.spread == pytest.approx(data.blocks.spread, rel=1e-5)

    def test_trials_that_share_passes_reach_what_each_would_reach_alone(self) -> None:
        data = simulate(SYMMETRIC, n=400)
        worse = replace(data.candidates, values=data.candidates.values[::-1].copy())
        reached = trial_log_likelihoods(LocalBlocks.of([[data.candidates, worse]]), None, 4)
        for candidates, log_likelihood in zip((data.candidates, worse), reached, strict=True):
            blocks = CandidateBlocks.single(candidates)
            alone = run_em(NoiseModel.symmetric(blocks.spread, 4, 0.001), blocks, 8, warmup=2)
            assert log_likelihood == alone.log_likelihood
        assert reached[0] > reached[1]


class TestInstanceNoise:
    def test_instance_dependent_errors_are_found_and_calibrated(self) -> None:
        """Some errors favour a class, as those of people do; the likelihood alone could not tell how many."""
        favoured = 0.9 * np.eye(5) + 0.1 * np.roll(np.eye(5), 1, axis=1)
        data = simulate(favoured, instance_noise_rate=0.3)
        without = fit_noise_model(data.blocks)
        model = fit_instance_noise(without, data.blocks)
        assert model.instance_noise_rate == pytest.approx(0.3, abs=0.1)
        assert abs(1 - data.p_right(model).mean() - data.noise_rate) < 0.02
        assert abs(1 - data.p_right(without).mean() - data.noise_rate) > 0.1

    @pytest.mark.parametrize("rate", [0.0, 0.02, 0.4])
    def test_symmetric_noise_is_not_taken_for_instance_dependent(self, rate: float) -> None:
        data = simulate((1 - rate) * np.eye(5) + rate / 5)
        model = fit_instance_noise(fit_noise_model(data.blocks), data.blocks)
        assert model.instance_noise_rate <= 0.04
        assert abs(1 - data.p_right(model).mean() - data.noise_rate) < 0.015

    def test_noise_by_a_rule_is_not_taken_for_instance_dependent(self) -> None:
        transition = np.eye(5)
        transition[0, :2] = 0.6, 0.4
        transition[3, 3:] = 0.7, 0.3
        blocks = simulate(transition).blocks
        assert fit_instance_noise(fit_noise_model(blocks), blocks).instance_noise_rate <= 0.04

    def test_human_likeness_needs_favoured_classes_and_errors_between_all(self) -> None:
        def likeness(matrix: Array) -> float:
            counts = PairCounts(np.arange(25), 1e5 * matrix.ravel())
            return human_likeness(TransitionMatrix.from_counts(counts, 5))

        even = 0.8 * np.eye(5) + 0.04
        rule = 0.8 * np.eye(5) + 0.2 * np.roll(np.eye(5), 1, axis=1)
        people = 0.7 * np.eye(5) + 0.02 + 0.2 * np.roll(np.eye(5), 1, axis=1)
        assert likeness(even) == likeness(rule) == 0
        assert likeness(people) == 1

    def test_log_prior_has_its_maximum_at_the_expected_rate(self) -> None:
        rates = np.linspace(0.01, 0.6, 60)
        for human in (0.5, 1.0):
            best = rates[np.argmax([log_prior(rate, human) for rate in rates])]
            assert best == pytest.approx(0.28 * human, abs=0.011)
        assert log_prior(0.3, 0.0) == pytest.approx(2 * 30 * np.log(0.7))
