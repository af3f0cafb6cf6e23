"""How many labels were given at a glance: the part of the noise that depends on the sample."""

from dataclasses import replace

import numpy as np

from eigenclean.detect.judge.candidate_blocks import Tables
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.noise_model import NoisyLabels
from eigenclean.detect.judge.transition_matrix import Transition

SHARES = (0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.32, 0.4)
SHARPNESSES = (0.5, 0.7)
_ROWS = 20_000  # enough to compare likelihoods
_USUAL = 0.28  # share in labels that single people gave (CIFAR-10N), where the likelihood can tell
_STRENGTH = 30.0  # the likelihood overrules the prior when it says so by a few nats


def with_glances(model: NoisyLabels, candidates: Candidates | Tables) -> NoisyLabels:
    """The model with the share of glances, and their sharpness, that explain the given labels best.

    The likelihood alone is sure when many labels were given at a glance, and sure that there were none when errors
    are anywhere. In between it is flat: a few errors among look-alikes are explained as well by classes that
    overlap a little more. Then the prior decides, and it goes by the rest of the noise: where errors favour some
    classes but are found between all, people were at work; where they are even, or only where a rule puts them, a
    machine.
    """
    part = candidates.thinned(_ROWS)
    people = _work_of_people(model.transition)
    none = model.improved(part, 100, tol=1e-7)  # to the end, or the others would gain by more rounds alone
    best, reached = none, _objective(none, part, people)
    for sharpness in SHARPNESSES:
        tried = replace(none, sharpness=sharpness)
        for share in SHARES:
            tried = replace(tried, glances=share).improved(part, 8, tol=1e-7)
            objective = _objective(tried, part, people)
            if objective > reached:
                best, reached = tried, objective
    return best.improved(candidates, 10)


def _objective(model: NoisyLabels, candidates: Candidates, people: float) -> float:
    """Log-likelihood and log-prior; without a trace of people, twice as much evidence is asked for."""
    share, expected = max(model.glances, 0.005), _USUAL * people
    prior = expected * np.log(share) + (1 - expected) * np.log(1 - share)
    return len(candidates) * model.log_likelihood + _STRENGTH * (2.0 - people) * float(prior)


def _work_of_people(transition: Transition) -> float:
    """From 0 to 1: do many errors go to favoured classes, a good part of all, and by more than a rule?"""
    structure = transition.structure
    signs = (
        structure / 0.005,
        (structure / max(transition.noise_rate, 1e-9) - 0.1) / 0.15,
        transition.breadth / 0.1,
    )
    return float(np.prod(np.clip(signs, 0, 1)))
