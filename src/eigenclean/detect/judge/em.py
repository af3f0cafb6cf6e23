"""EM for the noise model: maximum likelihood of the given labels over β, b and T; c and κ are held fixed.

T has a closed form, b is updated by iterative scaling and β by one Newton step per iteration. An iteration needs
nothing but sums over rows, `ExpectedStatistics`. `EMState` is advanced by such sums and does not compute them, so
that several runs of EM can share a pass over the data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from eigenclean.arrays import Float64s, Floats
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks
from eigenclean.detect.judge.candidates import Candidates, standard_deviation
from eigenclean.detect.judge.noise_model import NoiseModel
from eigenclean.detect.judge.transition_matrix import PairCounts, TransitionMatrix

START_RATES = (0.1, 0.4, 0.7, 0.9)  # noise rates to start from: above 70 % noise a single start gets stuck
_START_ROWS = 5000  # enough to see which start is best
_SUBSAMPLE_ROWS = 10_000  # EM takes many small steps; most of them are done on so many rows
_TRIAL_START_RATE = 0.001
_TRIAL_ITERATIONS, _TRIAL_WARMUP = 8, 2  # enough to compare amounts of shrinkage


class ExpectedStatistics(NamedTuple):
    """Sums over rows from the E-step, which the M-step needs; q is the posterior and p is P(y | x)."""

    log_likelihood: float
    posterior_value: float  # Σ q·g
    prior_value: float  # Σ p·g
    prior_square: float  # Σ p·g²
    prior_value_square: float  # Σ (p·g)²
    posterior_mass: Float64s  # Σ q for each class
    prior_mass: Float64s  # Σ p for each class
    pairs: PairCounts  # Σ q for each pair (y, ỹ), without what instance-dependent noise explains


def expected_statistics(candidates: Candidates, model: NoiseModel, with_pairs: bool) -> ExpectedStatistics:
    """The E-step on some rows; pairs of classes are counted only if T is to be updated."""
    prior, likelihood, values = model.prior(candidates), model.label_likelihood(candidates), candidates.values
    posterior = prior * likelihood
    evidence = np.maximum(posterior.sum(axis=0), 1e-30)
    posterior /= evidence
    weighted = prior * values
    mean = weighted.sum(axis=0)
    statistics = ExpectedStatistics(
        float(np.log(evidence).sum(dtype=np.float64)),
        _inner_product(posterior, values),
        float(mean.sum(dtype=np.float64)),
        _inner_product(weighted, values),
        _inner_product(mean, mean),
        candidates.sum_per_class(posterior),
        candidates.sum_per_class(prior),
        PairCounts.empty(),
    )
    if not with_pairs:
        return statistics
    if model.instance_noise_rate > 0:  # labels with instance-dependent noise say nothing about T
        posterior *= 1.0 - model.instance_noise_rate * model.instance_likelihood(candidates) / likelihood
    return statistics._replace(pairs=candidates.sum_per_pair(posterior))


@dataclass
class EMState:
    """One run of EM, advanced by `update` until it is `done`.

    Attributes:
        model: the current model; its log-likelihood is that of the model one update before.
        n: number of rows.
        max_iter: largest number of updates.
        tol: converged when the mean log-likelihood changes by less.
        warmup: number of first updates in which T is held fixed, or it would adapt to a scale that is still wrong.
        iteration: number of updates so far.
        done: whether EM has converged or reached ``max_iter``.
    """

    model: NoiseModel
    n: int
    max_iter: int
    tol: float = 1e-6
    warmup: int = 0
    iteration: int = 0
    done: bool = False

    @property
    def updates_transition(self) -> bool:
        """Whether the next update changes T, and so needs the pairs."""
        return self.iteration >= self.warmup

    def update(self, statistics: ExpectedStatistics) -> None:
        """The M-step, given the sums of `expected_statistics` over all rows under the current model."""
        log_likelihood = statistics.log_likelihood / self.n
        change = abs(log_likelihood - self.model.log_likelihood)
        converged = self.iteration > self.warmup + 1 and change < self.tol
        self.model = replace(self.model, log_likelihood=log_likelihood)
        if not converged:
            self._maximise(statistics)
        self.iteration += 1
        self.done = converged or self.iteration >= self.max_iter

    def _maximise(self, statistics: ExpectedStatistics) -> None:
        """Move β and b towards where P(y | x) agrees with the posterior on average, and set T."""
        model = self.model
        gradient = (statistics.posterior_value - statistics.prior_value) / self.n
        curvature = (statistics.prior_square - statistics.prior_value_square) / self.n
        step = float(np.clip(gradient / max(curvature, 1e-12), -0.5 * model.scale, 0.5 * model.scale))
        scaling = np.log((statistics.posterior_mass + 0.1) / (statistics.prior_mass + 0.1))
        offsets = model.offsets + np.clip(scaling, -1.0, 1.0)
        transition = model.transition
        if self.updates_transition:
            transition = TransitionMatrix.from_counts(statistics.pairs, len(model.offsets))
        self.model = replace(model, scale=model.scale + step, offsets=offsets, transition=transition)


def run_em(
    model: NoiseModel, candidates: CandidateBlocks, max_iter: int, *, tol: float = 1e-6, warmup: int = 0
) -> NoiseModel:
    """EM from this model, with one pass over the candidates per iteration."""
    state = EMState(model, len(candidates), max_iter, tol, warmup)
    while not state.done:
        state.update(candidates.total(expected_statistics, args=(state.model, state.updates_transition)))
    return state.model


def refine(model: NoiseModel, candidates: CandidateBlocks) -> NoiseModel:
    """EM until it converges: most iterations on a subsample, the last ones on all rows."""
    subsample = candidates.subsample(_SUBSAMPLE_ROWS)
    return run_em(run_em(model, subsample, 200, tol=1e-7), candidates, 10)


def fit_noise_model(candidates: CandidateBlocks) -> NoiseModel:
    """EM from several noise rates, compared on a subsample; the best one is refined."""
    subsample = candidates.subsample(_START_ROWS)
    k, spread = candidates.n_classes, subsample.spread
    starts = [NoiseModel.symmetric(spread, k, rate) for rate in START_RATES]
    models = [run_em(start, subsample, 40, warmup=2) for start in starts]
    return refine(max(models, key=lambda model: model.log_likelihood), candidates)


def trial_log_likelihoods(
    blocks: Blocks[Sequence[Candidates]], start: NoiseModel | None, n_classes: int
) -> list[float]:
    """Log-likelihoods that a few iterations of EM reach on each of several candidate tables of the same rows.

    All runs of EM share their passes over the blocks. Without a ``start`` they begin with nearly no noise.
    """
    n, *moments = blocks.total(_trial_moments)
    if len(blocks) == 1:
        spreads = [float(table.values.std()) for table in blocks.first()]
    else:
        spreads = [standard_deviation(*moment) for moment in moments]
    starts = [start or NoiseModel.symmetric(spread, n_classes, _TRIAL_START_RATE) for spread in spreads]
    runs = [EMState(model, n, _TRIAL_ITERATIONS, warmup=_TRIAL_WARMUP) for model in starts]
    while unfinished := {i: (run.model, run.updates_transition) for i, run in enumerate(runs) if not run.done}:
        statistics = blocks.total(_expected_statistics_of_each, args=(unfinished,))
        for i, own_statistics in zip(unfinished, statistics, strict=True):
            runs[i].update(own_statistics)
    return [run.model.log_likelihood for run in runs]


def _trial_moments(tables: Sequence[Candidates]) -> tuple[Any, ...]:
    return len(tables[0]), *(table.value_moments() for table in tables)


def _expected_statistics_of_each(
    tables: Sequence[Candidates], runs: Mapping[int, tuple[NoiseModel, bool]]
) -> tuple[ExpectedStatistics, ...]:
    return tuple(expected_statistics(tables[i], model, with_pairs) for i, (model, with_pairs) in runs.items())


def _inner_product(a: Floats, b: Floats) -> float:
    """Σ ab, summed in float64."""
    return float(np.multiply(a, b).sum(dtype=np.float64))
