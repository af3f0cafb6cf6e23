"""How many labels have instance-dependent noise, which occurs between classes that look alike."""

from dataclasses import replace

import numpy as np

from eigenclean.detect.judge.candidate_blocks import CandidateBlocks
from eigenclean.detect.judge.em import run_em
from eigenclean.detect.judge.noise_model import NoiseModel
from eigenclean.detect.judge.transition_matrix import TransitionMatrix

RATES = (0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.32, 0.4)
SHARPNESSES = (0.5, 0.7)
MIN_ASYMMETRY = 0.005  # share of the labels from which on errors count as favouring some classes
MIN_ASYMMETRIC_SHARE, ASYMMETRIC_SHARE_RANGE = 0.1, 0.15  # the same relative to all errors, and until it is certain
MIN_BREADTH = 0.1  # below it, errors occur between few pairs of classes
HUMAN_RATE = 0.28  # rate in labels by single annotators (CIFAR-10N), where the likelihood can tell
PRIOR_STRENGTH = 30.0  # the likelihood overrules the prior by a few nats
_SUBSAMPLE_ROWS = 20_000  # enough to compare likelihoods


def fit_instance_noise(model: NoiseModel, candidates: CandidateBlocks) -> NoiseModel:
    """The model with the rate and sharpness of instance-dependent noise of the highest posterior probability.

    The likelihood alone can tell when the rate is high, and when errors are independent of the instance. In between
    it is flat: a few errors between look-alikes are explained as well by classes that overlap a little more. Then
    the prior decides, by the class-conditional part of the noise (see `human_likeness`).
    """
    subsample = candidates.subsample(_SUBSAMPLE_ROWS)
    human = human_likeness(model.transition)
    without = run_em(model, subsample, 100, tol=1e-7)  # converged, or the others would gain by iterations alone
    best, best_objective = without, _log_posterior(without, len(subsample), human)
    for sharpness in SHARPNESSES:
        trial = replace(without, sharpness=sharpness)
        for rate in RATES:
            trial = run_em(replace(trial, instance_noise_rate=rate), subsample, 8, tol=1e-7)
            objective = _log_posterior(trial, len(subsample), human)
            if objective > best_objective:
                best, best_objective = trial, objective
    return run_em(best, candidates, 10)


def human_likeness(transition: TransitionMatrix) -> float:
    """From 0 to 1, how much class-conditional noise looks like errors of people rather than of a program.

    People favour some wrong classes, but err between nearly all of them. Noise that is spread evenly, or that
    occurs only between the classes of a rule, comes from a program.
    """
    asymmetric_share = transition.asymmetry / max(transition.noise_rate, 1e-9)
    factors = (
        transition.asymmetry / MIN_ASYMMETRY,
        (asymmetric_share - MIN_ASYMMETRIC_SHARE) / ASYMMETRIC_SHARE_RANGE,
        transition.breadth / MIN_BREADTH,
    )
    return float(np.prod(np.clip(factors, 0, 1)))


def log_prior(rate: float, human: float) -> float:
    """Log-prior of the rate of instance-dependent noise; without a trace of people it is twice as strong."""
    rate, expected = max(rate, 0.005), HUMAN_RATE * human
    return PRIOR_STRENGTH * (2.0 - human) * float(expected * np.log(rate) + (1 - expected) * np.log(1 - rate))


def _log_posterior(model: NoiseModel, n: int, human: float) -> float:
    return n * model.log_likelihood + log_prior(model.instance_noise_rate, human)
