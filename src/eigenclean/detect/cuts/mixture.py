"""Mixture cuts: the posterior of the upper of two components, and whether a class has two components at all."""

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit

from eigenclean.arrays import Bools, ClassRows, Float64s, Ints
from eigenclean.detect.cuts.base import Cut, plain_numbers, spread_ranks
from eigenclean.errors import InvalidOption
from eigenclean.mixture import Family, Mixtures, fit_mixtures, gain_of_second
from eigenclean.names import check_name

# A second component has probability 1/2 when it gains this much per sample, and is nearly certain a few widths
# above it. Both numbers were measured on clean and noisy classes of real data
# (docs/decisions/0004-one-or-two-components.md).
_HALF, _WIDTH = 0.03, 0.02
# Evenly spaced order statistics of a large class have the same distribution as all its scores up to 1/number, far
# below the standard error of the estimates. So the cost of the EM does not grow with the data.
_MAX_SCORES, _MAX_SCORES_FOR_SPLIT = 1 << 14, 1 << 11


class MixtureCut(Cut):
    """Posterior of the upper of two components, fitted to the scores of each class alone.

    Args:
        max_iter: most EM iterations (the released code: 100, and 10 inside F-DivideMix).
        tol: change of the mean log-likelihood at which EM stops.
        regularisation: added to every variance.
        monotone: hold the posterior constant beyond its turning point, so that the best scores are never flagged.
            The paper and its code do not.
        split: "auto" tests first whether a class has two components at all, so that a clean class is kept whole;
            "always" splits every class, as the paper does.
        standardise: scale the scores of each class to unit variance first, which makes ``regularisation``
            scale-free.
        min_samples: classes smaller than this are kept whole.

    Attributes:
        mixtures_: the fitted mixtures.
        p_two_: for each class, the probability q that there are two components; P(right) = 1 − q·(1 − posterior).
    """

    family: ClassVar[Family]

    def __init__(
        self,
        *,
        max_iter: int = 100,
        tol: float = 1e-6,
        regularisation: float = 1e-6,
        monotone: bool = True,
        split: Literal["auto", "always"] = "auto",
        standardise: bool = False,
        min_samples: int = 10,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.regularisation = regularisation
        self.monotone = monotone
        self.split = split
        self.standardise = standardise
        self.min_samples = min_samples

    mixtures_: Mixtures
    p_two_: Float64s

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed."""
        check_name(self.split, ("auto", "always"), by="mixture cut", what="split")
        if self.min_samples < 2:
            raise InvalidOption(f"mixture cut: min_samples must be at least 2, got {self.min_samples}")
        if self.max_iter < 1:
            raise InvalidOption(f"mixture cut: max_iter must be at least 1, got {self.max_iter}")

    def _fit(self, scores: Float64s, rows: ClassRows) -> Bools:
        self._shift, self._spread = np.zeros(len(rows)), np.ones(len(rows))
        if self.standardise:
            self._shift, self._spread = _mean_and_deviation(scores, rows)
        scores, rows = _thinned(scores, rows, _MAX_SCORES)
        self.mixtures_ = fit_mixtures(
            self._scaled(scores, np.repeat(np.arange(len(rows)), rows.counts)),
            rows,
            family=self.family,
            max_iter=self.max_iter,
            tol=self.tol,
            regularisation=self.regularisation,
            min_samples=self.min_samples,
        )
        whole = np.asarray(~self.mixtures_.valid | self.constant_classes())
        self.p_two_ = np.where(whole, 0.0, 1.0)
        if self.split == "auto" and not whole.all():
            self.p_two_ *= self._probability_of_two(scores, rows)
        return whole

    def _probability_of_two(self, scores: Float64s, rows: ClassRows) -> Float64s:
        scores, thinned = _thinned(scores, rows, _MAX_SCORES_FOR_SPLIT)
        scores = self._natural_scale(scores, np.repeat(np.arange(len(rows)), thinned.counts))
        two = fit_mixtures(
            scores, thinned, max_iter=50, tol=1e-4, regularisation=1e-9, min_samples=self.min_samples
        )
        gain, valid = gain_of_second(scores, thinned, two), two.valid
        if not valid.any():
            return np.zeros(len(rows))
        # Classes of one data set resemble each other: the gain of each is shrunk half way to the average gain.
        shared = float(np.average(gain[valid], weights=rows.counts[valid]))
        gain = np.where(valid, 0.5 * (gain + shared), -np.inf)
        return np.asarray(expit((gain - _HALF) / _WIDTH))

    def _natural_scale(self, scores: Float64s, groups: Ints) -> Float64s:
        """The scale on which a single clean class looks normal, so that its skew is not taken for two components.

        A cosine s piles up below 1, where the angle is √(2(1 − s)): −log(1 − s) is a log-angle. Other positive
        scores (squared lengths) spread over orders of magnitude: their logarithm. Anything else stays.
        """
        if self._ceiling is not None:
            return np.asarray(-np.log(np.maximum(self._ceiling - scores, 1e-6 * abs(self._ceiling))))
        low, high = self.levels_[groups, 0], self.levels_[groups, -1]
        return np.where(low < 0, scores, np.log(np.maximum(scores, np.maximum(1e-6 * high, 1e-300))))

    def _p_clean(self, scores: Float64s, groups: Ints) -> Float64s:
        upper = self.mixtures_.posterior(self._scaled(scores, groups), groups, monotone=self.monotone)
        return np.asarray(1.0 - self.p_two_[groups] * (1.0 - upper))

    def _scaled(self, scores: Float64s, groups: Ints) -> Float64s:
        if not self.standardise:
            return scores
        return (scores - self._shift[groups]) / self._spread[groups]

    def describe(self) -> dict[str, Any]:
        """The mixtures on the scale of the scores, component 0 the suspicious one."""
        shift, spread = self._shift[:, None], self._spread[:, None]
        record: dict[str, Any] = {
            "kind": self.family,
            "weights": plain_numbers(self.mixtures_.weights),
            "means": plain_numbers(self.mixtures_.means * spread + shift),
            "variances": plain_numbers(self.mixtures_.variances * spread**2),
            "split": (self.p_two_ > 0.5).tolist(),
            "p_two": plain_numbers(self.p_two_),
        }
        if self.family == "beta":
            record["alpha"] = plain_numbers(self.mixtures_.natural[..., 0] + 1)
            record["beta"] = plain_numbers(self.mixtures_.natural[..., 1] + 1)
            low, width = self.mixtures_.scale[:, :1] * spread + shift, self.mixtures_.scale[:, 1:] * spread
            record["range"] = plain_numbers(np.concatenate([low, low + width], axis=1))
        return record


class GaussianCut(MixtureCut):
    """FINE's own cut: two Gaussians per class; the one with the larger mean holds the right labels.

    ``GaussianCut(monotone=False, split="always")`` decides as the released code does.

    >>> scores = np.concatenate([np.linspace(0.1, 0.2, 50), np.linspace(0.8, 0.9, 50)])
    >>> cut = GaussianCut().fit(scores, np.zeros(100, dtype=int))
    >>> cut.p_clean(np.array([0.15, 0.85]), np.array([0, 0])).round(3)
    array([0., 1.])
    """

    family: ClassVar[Family] = "gaussian"


class BetaCut(MixtureCut):
    """Two beta densities per class, on scores stretched to [0, 1]; they can be skewed, as alignments are.

    The released code computes the boundary on the stretched scale but compares unstretched scores with it; here
    both are on the same scale.

    >>> scores = np.concatenate([np.linspace(0.1, 0.2, 50), np.linspace(0.8, 0.9, 50)])
    >>> cut = BetaCut().fit(scores, np.zeros(100, dtype=int))
    >>> cut.p_clean(np.array([0.15, 0.85]), np.array([0, 0])).round(3)
    array([0., 1.])
    """

    family: ClassVar[Family] = "beta"


def _thinned(scores: Float64s, rows: ClassRows, most: int) -> tuple[Float64s, ClassRows]:
    """At most ``most`` scores of each class, evenly spread over its ranks: their distribution is the same."""
    if rows.counts.max(initial=0) <= most:
        return scores, rows
    large = rows.counts > most
    ranks = spread_ranks(rows, most)
    thinned = [scores[ranks[k]] if large[k] else scores[rows[k]] for k in range(len(rows))]
    starts = np.concatenate(([0], np.cumsum([len(of_class) for of_class in thinned])))
    return np.concatenate(thinned), ClassRows(np.arange(starts[-1]), starts)


def _mean_and_deviation(scores: Float64s, rows: ClassRows) -> tuple[Float64s, Float64s]:
    """Of the scores of each class; 1 for the deviation of a constant class."""
    codes = np.repeat(np.arange(len(rows)), rows.counts)
    n = np.maximum(rows.counts, 1)
    mean = np.bincount(codes, scores, len(rows)) / n
    spread = np.sqrt(np.bincount(codes, (scores - mean[codes]) ** 2, len(rows)) / n)
    return mean, np.where(spread > 0, spread, 1.0)
