"""Whether views that explain the labels about equally well agree on how many of them are wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from eigenclean.detect.judge.block_statistics import sum_p_right
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks
from eigenclean.detect.judge.em import run_em
from eigenclean.detect.judge.noise_model import NoiseModel

COMPARABLE = 0.1  # of the mean log-likelihood, by which a view may explain the labels worse than the best one
_ROWS = 5000  # enough to estimate a rate
_ITERATIONS, _WARMUP = 40, 2  # from the model of all views; T waits until the scale of the single view is found


class ViewEstimate(NamedTuple):
    """Estimates of the noise model when it is fitted on the scores of one view alone.

    Attributes:
        noise_rate: expected share of wrong labels.
        log_likelihood: mean log-likelihood of the given labels.
    """

    noise_rate: float
    log_likelihood: float


def estimates_by_view(
    names: Sequence[str], model: NoiseModel, candidates: CandidateBlocks
) -> dict[str, ViewEstimate]:
    """Fit the noise model to the scores of each view alone, from the model of all views."""
    rows = candidates.subsample(_ROWS).blocks.first()
    estimates = {}
    for number, name in enumerate(names):
        single = CandidateBlocks.single(replace(rows, values=rows.values[[number]]))
        spread = single.spreads[0]
        start = replace(model, scales=np.array([1.0 / spread if spread > 0 else 1.0]), log_likelihood=-np.inf)
        fitted = run_em(start, single, _ITERATIONS, warmup=_WARMUP)
        rate = 1.0 - single.total(sum_p_right, args=(fitted,)) / len(single)
        estimates[name] = ViewEstimate(rate, fitted.log_likelihood)
    return estimates


def comparable_rates(estimates: Mapping[str, ViewEstimate]) -> dict[str, float]:
    """The noise rates of the views that explain the labels about as well as the best one.

    >>> comparable_rates({"linear": ViewEstimate(0.2, -1.0), "trees": ViewEstimate(0.1, -0.5)})
    {'trees': 0.1}
    """
    best = max((estimate.log_likelihood for estimate in estimates.values()), default=0.0)
    return {
        name: estimate.noise_rate
        for name, estimate in estimates.items()
        if estimate.log_likelihood >= best - COMPARABLE
    }
