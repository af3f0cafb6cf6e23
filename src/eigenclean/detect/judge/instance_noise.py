"""Instance-dependent noise: an average over its possible amounts, as labels do not tell how much there is.

Errors between samples that look alike are explained as well by classes that overlap a little more: over a wide
range of rates the likelihood of the labels is flat. A single rate would be a guess. So all rates keep the weight
that the labels leave them: models with several rates are fitted, and their probabilities are averaged by their
approximate marginal likelihoods (Bayesian model averaging). What does differ between them is how much structure is
left for the transition matrix to explain: where errors between classes follow the similarity of the classes, as
those of people do, models with instance-dependent noise need less of it.

Labels that a rule or a weak model gave follow the features more closely than the right ones do. Labels alone cannot
tell: what is learned from them is the P(y | x) of given labels. Decisions of people can. So where there are
some, models are compared too in which P(y | x) is flatter than what the views predict of the given labels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import log_expit, logsumexp, softmax

from eigenclean.arrays import Float64s, Floats, Ints
from eigenclean.detect.blocks import add
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.em import run_em
from eigenclean.detect.judge.noise_model import NoiseModel
from eigenclean.detect.judge.transition_matrix import PairCounts

RATES = (0.1, 0.2, 0.3, 0.4)
SHARPNESSES = (0.5, 0.7)
# Where people have decided: shares of the labels that follow the views, and scales of P(y | x) relative to theirs.
FOLLOWING_SHARES = (0.5, 0.8, 0.98)
FLATTER_SCALES = (0.25, 0.35, 0.5, 0.7)
PRIOR_WITHOUT = 0.5  # prior probability that there is no instance-dependent noise
_MIN_WEIGHT = 0.005  # models with less are left out
_SUBSAMPLE_ROWS = 20_000  # enough to compare models
_LAST_ITERATIONS = 2  # of EM on all rows if they are more: it has converged on the subsample
INTERVAL = 0.9


class PosteriorSums(NamedTuple):
    """Sums over rows of what an averaged model says about them; those of disjoint rows add up.

    Attributes:
        right: expected number of right labels by each of the models.
        redrawn: expected number of labels that a draw from P(y | x) would change.
        counts: number of rows of each given class.
        right_per_class: expected number of right labels of each given class, by the average of the models.
        pairs: expected numbers of pairs of right and given labels, with both kinds of noise.
    """

    right: Float64s
    redrawn: float
    counts: Ints
    right_per_class: Float64s
    pairs: PairCounts


@dataclass(frozen=True, eq=False)
class AveragedNoiseModel:
    """Noise models with different amounts of instance-dependent noise, and their posterior weights.

    Attributes:
        models: the noise models, of which the first has no instance-dependent noise.
        weights: posterior probability of each.
    """

    models: Sequence[NoiseModel]
    weights: Float64s

    @property
    def instance_noise_rate(self) -> float:
        """Expected share of the labels with instance-dependent noise."""
        return float(self.weights @ [model.instance_noise_rate for model in self.models])

    @property
    def scales(self) -> Float64s:
        """Expected β, one per view."""
        return np.asarray(self.weights @ np.stack([model.scales for model in self.models]))

    def posterior(self, candidates: Candidates) -> Floats:
        """P(y | x, ỹ), m x n."""
        total = self.weights[0] * self.models[0].posterior(candidates)
        for weight, model in zip(self.weights[1:], self.models[1:], strict=True):
            total += weight * model.posterior(candidates)
        return np.asarray(total)

    def p_right(self, candidates: Candidates) -> Float64s:
        """P(y = ỹ | x, ỹ), n."""
        return np.asarray(self.weights @ np.stack([model.p_right(candidates) for model in self.models]))

    def log_odds(self, candidates: Candidates) -> Float64s:
        """log P(y = ỹ | x, ỹ) / P(y ≠ ỹ | x, ỹ), n; it still ranks rows whose probability rounds to 0 or 1."""
        return mean_log_odds([model.log_odds(candidates) for model in self.models], self.weights)

    def posterior_sums(self, candidates: CandidateBlocks) -> PosteriorSums:
        """All sums over the rows that a summary of the fit needs, in one pass."""
        return candidates.total(_posterior_sums, args=(self,))

    def noise_rate_range(self, sums: PosteriorSums, level: float = INTERVAL) -> tuple[float, float]:
        """The interval of noise rates that labels leave possible, from sums over the rows.

        Its lower end is a quantile over the models. At its upper end all doubt of P(y | x) would be label noise,
        as classes that do not overlap explain the labels as well as noise that prefers the boundaries: it is the
        share of labels that somebody would change who drew a label anew from P(y | x).
        """
        n = int(sums.counts.sum())
        rates = 1.0 - sums.right / n
        order = np.argsort(rates)
        cumulative = np.cumsum(self.weights[order])
        tail = (1.0 - level) / 2
        low, high = np.searchsorted(cumulative, [tail, 1.0 - tail - 1e-9])
        highest = max(float(rates[order[min(high, len(rates) - 1)]]), sums.redrawn / n)
        return float(rates[order[low]]), highest


def mean_log_odds(odds: Sequence[Float64s], weights: Float64s) -> Float64s:
    """Log-odds of the weighted mean of probabilities, from the log-odds of each.

    >>> mean_log_odds([np.array([0.0]), np.array([800.0])], np.array([0.5, 0.5])).round(3)
    array([1.099])
    >>> mean_log_odds([np.array([0.0]), np.array([800.0])], np.array([0.0, 1.0]))
    array([800.])
    """
    if len(odds) == 1:
        return odds[0]
    with np.errstate(divide="ignore"):  # a model without any weight is left out of both sums
        log_weights = np.log(weights)[:, None]
    stacked = np.stack(odds)
    right = logsumexp(log_weights + log_expit(stacked), axis=0)
    return np.asarray(right - logsumexp(log_weights + log_expit(-stacked), axis=0))


def average_over_instance_noise(model: NoiseModel, candidates: CandidateBlocks) -> AveragedNoiseModel:
    """Fit models with several rates and sharpnesses of instance-dependent noise, and weight them."""
    subsample = candidates.subsample(_SUBSAMPLE_ROWS)
    n = len(subsample)
    without = run_em(model, subsample, 60, tol=1e-7)  # converged, or the others would gain by iterations alone
    models = [without]
    for sharpness in SHARPNESSES:
        trial = replace(without, sharpness=sharpness)
        for rate in RATES:
            trial = run_em(replace(trial, instance_noise_rate=rate), subsample, 12, tol=1e-7)
            models.append(trial)
    if subsample.total(_count_known):
        models += _following_models(without, subsample)
    prior = np.full(len(models), (1 - PRIOR_WITHOUT) / (len(models) - 1))
    prior[0] = PRIOR_WITHOUT
    weights = softmax(np.log(prior) + [each.log_evidence(n) for each in models])
    kept = np.flatnonzero((weights >= _MIN_WEIGHT) | (np.arange(len(weights)) == 0))
    fitted = [
        models[i]
        if n == len(candidates)
        else run_em(models[i], candidates, _LAST_ITERATIONS, holds_scales=follows(models[i]))
        for i in kept
    ]
    return AveragedNoiseModel(fitted, np.asarray(weights[kept] / weights[kept].sum()))


def follows(model: NoiseModel) -> bool:
    """Whether given labels follow the views more closely than right ones do."""
    return model.sharpness > 1


def _following_models(without: NoiseModel, candidates: CandidateBlocks) -> list[NoiseModel]:
    """Models in which P(y | x) is flatter than what the views predict of the given labels.

    The scale of the labels, κ·β, is that of a model of the labels without decisions. β is held: EM would change it
    as if the labels told how sharp P(y | x) is.
    """
    labels_alone = replace(candidates, blocks=candidates.blocks.map(_without_decisions).persist())
    of_labels = run_em(without, labels_alone, 60, tol=1e-7)
    models = []
    for flatter in FLATTER_SCALES:
        trial = replace(of_labels, scales=flatter * of_labels.scales, sharpness=1 / flatter)
        for share in FOLLOWING_SHARES:
            trial = run_em(replace(trial, instance_noise_rate=share), candidates, 12, tol=1e-7, holds_scales=True)
            models.append(trial)
    return models


def _without_decisions(candidates: Candidates) -> Candidates:
    return replace(candidates, known=None)


def _count_known(candidates: Candidates) -> int:
    return 0 if candidates.known is None else int(np.count_nonzero(candidates.known >= 0))


def _posterior_sums(candidates: Candidates, model: AveragedNoiseModel) -> PosteriorSums:
    first, *rest = (_chunk_sums(chunk, model) for chunk in candidates.chunks())
    for sums in rest:
        first = add(first, sums, in_place=True)
    return first


def _chunk_sums(candidates: Candidates, model: AveragedNoiseModel) -> PosteriorSums:
    k, given = candidates.n_classes, candidates.given_entries
    p_right = np.empty((len(model.models), len(candidates)), dtype=candidates.values.dtype)
    average = np.zeros(candidates.classes.shape, dtype=p_right.dtype)
    for weight, single, row in zip(model.weights, model.models, p_right, strict=True):
        posterior = single.posterior(candidates)
        row[:] = posterior[given]
        posterior *= float(weight)
        average += posterior
    predicted = model.models[0].prior(candidates)[given]
    right = np.bincount(candidates.given, model.weights @ p_right, k)
    return PosteriorSums(
        p_right.sum(axis=1, dtype=np.float64),
        float((1.0 - predicted).sum(dtype=np.float64)),
        np.bincount(candidates.given, minlength=k),
        right.astype(np.float64, copy=False),
        candidates.sum_per_pair(average),
    )
