"""EM for the noise model: maximum likelihood of the given labels over β, b and T; c and κ are held fixed.

T has a closed form, b is updated by iterative scaling and β by one Newton step per iteration. An iteration needs
nothing but sums over rows, `ExpectedStatistics`. `EMState` is advanced by such sums and does not compute them.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from eigenclean.arrays import Float64s, Floats
from eigenclean.detect.blocks import add
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.noise_model import NoiseModel
from eigenclean.detect.judge.transition_matrix import WEAKEST, PairCounts, Strengths, TransitionMatrix

START_RATES = (0.1, 0.4, 0.7, 0.9)  # noise rates to start from: above 70 % noise a single start gets stuck
_START_ROWS = 5000  # enough to see which start is best
_SUBSAMPLE_ROWS = 10_000  # EM takes many small steps; most of them are done on so many rows
_TRIAL_START_RATE = 0.05
_TRIAL_ITERATIONS, _TRIAL_WARMUP = 12, 2  # enough to compare scores of different views
_STRENGTHS_EVERY = 5  # iterations after which the strengths of T's prior are estimated again


class ExpectedStatistics(NamedTuple):
    """Sums over rows from the E-step, which the M-step needs; q is the posterior and p is P(y | x)."""

    log_likelihood: float
    gradient: Float64s  # Σ (q − p)·g for each view
    curvature: Float64s  # Σ p·g·gᵀ − (Σ p·g)(Σ p·g)ᵀ, views x views
    posterior_mass: Float64s  # Σ q for each class
    prior_mass: Float64s  # Σ p for each class
    pairs: PairCounts  # Σ q for each pair (y, ỹ), without what instance-dependent noise explains


def expected_statistics(candidates: Candidates, model: NoiseModel, with_pairs: bool) -> ExpectedStatistics:
    """The E-step on some rows; pairs of classes are counted only if T is to be updated."""
    first, *rest = (_chunk_statistics(chunk, model, with_pairs) for chunk in candidates.chunks())
    for statistics in rest:
        first = add(first, statistics, in_place=True)
    return first


def _chunk_statistics(candidates: Candidates, model: NoiseModel, with_pairs: bool) -> ExpectedStatistics:
    prior, instance = model.prior(candidates), model.instance_likelihood(candidates)
    likelihood = model.label_likelihood(candidates, instance)
    posterior = prior * likelihood
    if candidates.known is not None:
        posterior *= candidates.is_possible
    evidence = np.maximum(posterior.sum(axis=0), 1e-30)
    posterior /= evidence
    statistics = ExpectedStatistics(
        float(np.log(evidence).sum(dtype=np.float64)),
        *_derivatives(candidates.values, prior, posterior),
        candidates.sum_per_class(posterior),
        candidates.sum_per_class(prior),
        PairCounts.empty(),
    )
    if not with_pairs:
        return statistics
    if instance is not None:  # labels with instance-dependent noise say nothing about T
        np.divide(model.instance_noise_rate * instance, likelihood, out=likelihood)
        np.subtract(1.0, likelihood, out=likelihood)
        posterior *= likelihood
    return statistics._replace(pairs=candidates.sum_per_pair(posterior))


def _derivatives(values: Floats, prior: Floats, posterior: Floats) -> tuple[Float64s, Float64s]:
    """Gradient and curvature, in the precision of the values: a Newton step needs few digits."""
    n_views, difference = len(values), posterior - prior
    if n_views > 2:
        flat, products = values.reshape(n_views, -1), values * prior
        sums = products.sum(axis=1)
        squares = products.reshape(n_views, -1) @ flat.T - sums @ sums.T
        return (flat @ difference.ravel()).astype(np.float64), squares.astype(np.float64)
    # For one or two views scalar products are faster than products of matrices.
    gradient, curvature = np.empty(n_views), np.empty((n_views, n_views))
    means = np.empty((n_views, prior.shape[1]), dtype=prior.dtype)
    for view, scores in enumerate(values):
        gradient[view] = np.vdot(scores, difference)
        weighted = scores * prior
        weighted.sum(axis=0, out=means[view])
        for other in range(view + 1):
            curvature[view, other] = np.vdot(weighted, values[other]) - np.vdot(means[view], means[other])
            curvature[other, view] = curvature[view, other]
    return gradient, curvature


@dataclass
class EMState:
    """One run of EM, advanced by `update` until it is `done`.

    Attributes:
        model: the current model; its log-likelihood is that of the model one update before.
        n: number of rows.
        max_iter: largest number of updates.
        tol: converged when the mean log-likelihood changes by less.
        warmup: number of first updates in which T is held fixed, or it would adapt to a scale that is still wrong.
        strengths: of T's prior; None estimates them.
        holds_scales: whether β stays as it is.
        iteration: number of updates so far.
        done: whether EM has converged or reached ``max_iter``.
    """

    model: NoiseModel
    n: int
    max_iter: int
    tol: float = 1e-6
    warmup: int = 0
    strengths: Strengths | None = None
    holds_scales: bool = False
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
        scaling = np.log((statistics.posterior_mass + 0.1) / (statistics.prior_mass + 0.1))
        offsets = model.offsets + np.clip(scaling, -1.0, 1.0)
        transition = model.transition
        if self.updates_transition:
            estimated = (self.iteration - self.warmup) % _STRENGTHS_EVERY == 0
            strengths = self.strengths or (None if estimated else transition.strengths)
            transition = TransitionMatrix.from_counts(statistics.pairs, len(offsets), strengths)
        scales = model.scales
        if not self.holds_scales:
            scales = newton_step(scales, statistics.gradient / self.n, statistics.curvature / self.n)
        self.model = replace(model, scales=scales, offsets=offsets, transition=transition)


def newton_step(scales: Float64s, gradient: Float64s, curvature: Float64s) -> Float64s:
    """One step towards the maximum of the likelihood over β ≥ 0, at most half of what β is now.

    Views are compared in units of their curvature, so that the step does not depend on the scale of their scores.
    A view with β = 0 that the likelihood does not want stays out of the system.

    >>> newton_step(np.array([1.0, 0.0]), np.array([0.1, -0.1]), np.array([[1.0, 0.5], [0.5, 1.0]])).round(3)
    array([1.1, 0. ])
    """
    units = np.sqrt(np.maximum(curvature.diagonal(), 1e-12))
    active = np.flatnonzero((scales > 0) | (gradient > 0))
    step = np.zeros_like(scales)
    if len(active):
        unit = units[active]
        system = curvature[active[:, None], active] / (unit[:, None] * unit)
        system.flat[:: len(active) + 1] += 1e-6
        step[active] = np.linalg.solve(system, gradient[active] / unit) / unit
    largest = 0.5 * float((scales * units).sum()) / units
    moved = np.maximum(scales + np.minimum(np.maximum(step, -largest), largest), 0.0)
    return moved if moved.any() else 0.5 * scales


def run_em(
    model: NoiseModel,
    candidates: CandidateBlocks,
    max_iter: int,
    *,
    tol: float = 1e-6,
    warmup: int = 0,
    strengths: Strengths | None = None,
    holds_scales: bool = False,
) -> NoiseModel:
    """EM from this model, with one pass over the candidates per iteration."""
    state = EMState(model, len(candidates), max_iter, tol, warmup, strengths, holds_scales)
    while not state.done:
        state.update(candidates.total(expected_statistics, args=(state.model, state.updates_transition)))
    return state.model


def refine(model: NoiseModel, candidates: CandidateBlocks) -> NoiseModel:
    """EM until it converges: most iterations on a subsample, the last ones on all rows."""
    subsample = candidates.subsample(_SUBSAMPLE_ROWS)
    return run_em(run_em(model, subsample, 100, tol=1e-6), candidates, 10)


def fit_noise_model(candidates: CandidateBlocks) -> NoiseModel:
    """EM from several noise rates, compared on a subsample; the best one is refined.

    Under a strong prior errors between few pairs of classes are never found: a little noise everywhere explains
    none of them. So EM also starts under a weak prior, and the marginal likelihood decides what structure is worth.
    """
    subsample = candidates.subsample(_START_ROWS)
    starts = [NoiseModel.symmetric(subsample.spreads, candidates.n_classes, rate) for rate in START_RATES]
    models = [run_em(start, subsample, 40, tol=1e-5, warmup=2) for start in starts]
    structured = [run_em(start, subsample, 15, tol=1e-5, warmup=2, strengths=WEAKEST) for start in starts[:2]]
    models += [run_em(model, subsample, 25, tol=1e-5) for model in structured]
    return refine(max(models, key=lambda model: model.log_evidence(len(candidates))), candidates)


def trial_log_likelihood(candidates: Candidates, rate: float | None = None) -> float:
    """Mean log-likelihood that a few iterations of EM reach, from symmetric noise of this rate: compares views."""
    blocks = CandidateBlocks.single(candidates.by_given())
    start = NoiseModel.symmetric(blocks.spreads, blocks.n_classes, _TRIAL_START_RATE if rate is None else rate)
    return run_em(start, blocks, _TRIAL_ITERATIONS, warmup=_TRIAL_WARMUP).log_likelihood
