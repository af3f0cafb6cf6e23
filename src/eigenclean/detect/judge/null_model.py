"""Whether the views predict the labels at all, and the noise model where they do not.

With few rows and useless features the best of many noise models explains the labels a little better than the sizes
of the classes do, by chance, and may call any share of them wrong. So a noise model has to explain them better by
more than its weights of the views would by chance (the Bayesian information criterion), and the choice between ways
to prepare the rows. Otherwise nothing is known about the labels, and none of them is called wrong.
"""

import numpy as np
from scipy.special import xlogy

from eigenclean.arrays import Ints
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks
from eigenclean.detect.judge.candidates import Candidates
from eigenclean.detect.judge.em import run_em
from eigenclean.detect.judge.instance_noise import AveragedNoiseModel
from eigenclean.detect.judge.noise_model import NoiseModel

_RATE = 0.001  # of symmetric noise where nothing is known: P(right) is high for all, and views still rank the rows
_ROWS, _ITERATIONS = 10_000, 30
_CHOICES = 6.0  # log of how many ways there are to prepare rows, bandwidths and amounts of shrinkage, about 500


def predicts_labels(model: NoiseModel, candidates: CandidateBlocks) -> bool:
    """Whether the model explains the labels better than the sizes of the classes do, and not by chance."""
    n = len(candidates)
    shares = candidates.total(_class_counts) / n
    gain = model.log_evidence(n) - n * float(xlogy(shares, shares).sum())
    by_chance = 0.5 * len(model.scales) * np.log(n) + _CHOICES
    # With labels that are wrong more often than drawn ones would be, classes have changed their names.
    return bool(gain > by_chance and model.transition.noise_rate < 1.0 - 1.0 / candidates.n_classes)


def model_without_noise(candidates: CandidateBlocks) -> AveragedNoiseModel:
    """P(y | x) as the given labels have it, and nearly no label wrong."""
    subsample = candidates.subsample(_ROWS)
    start = NoiseModel.symmetric(subsample.spreads, candidates.n_classes, _RATE)
    fitted = run_em(start, subsample, _ITERATIONS, warmup=_ITERATIONS)  # T is held fixed in the warm-up
    return AveragedNoiseModel([fitted], np.ones(1))


def _class_counts(candidates: Candidates) -> Ints:
    return np.bincount(candidates.given, minlength=candidates.n_classes)
