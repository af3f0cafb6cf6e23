"""A cut for margins: how much better the given class fits than the best other one, of all classes together."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, softmax

from eigenclean.arrays import Bools, ClassRows, Float64s, Ints
from eigenclean.detect.cuts.base import Cut, plain_numbers
from eigenclean.errors import InvalidOption

_MAX_SCORES = 1 << 14  # evenly spaced order statistics have the same distribution as all scores
_MIN_DEVIATION = 3e-3
_TOL = 1e-6


@dataclass(frozen=True, eq=False)
class MarginMixture:
    """Gaussian components of the margins; the first one is that of wrong labels.

    Attributes:
        weights: of the components.
        means: of the components.
        deviations: of the components.
        log_likelihood: of the margins that it was fitted to.
    """

    weights: Float64s
    means: Float64s
    deviations: Float64s
    log_likelihood: float = -np.inf

    @classmethod
    def fit(cls, margins: Float64s, n_right: int, highest_wrong: float, max_iter: int) -> "MarginMixture":
        """EM for a component of wrong labels, whose mean is at most ``highest_wrong``, and ``n_right`` others."""
        low, *levels = np.quantile(margins, [0.05, 0.5, 0.9])
        means = np.array([min(low, highest_wrong), *levels[:n_right]])
        deviations = np.full(n_right + 1, max(float(margins.std()) / 2, _MIN_DEVIATION))
        weights = np.array([0.3, *[0.7 / n_right] * n_right])
        for _ in range(max_iter):
            log_joint = cls(weights, means, deviations).log_joint(margins)
            responsibilities = softmax(log_joint, axis=1)
            mass = responsibilities.sum(axis=0) + 1e-9
            before, means = means, (responsibilities.T @ margins) / mass
            means[0] = min(means[0], highest_wrong)
            squares = (responsibilities * (margins[:, None] - means) ** 2).sum(axis=0) / mass
            deviations = np.sqrt(np.maximum(squares, _MIN_DEVIATION**2))
            weights = mass / mass.sum()
            if np.abs(means - before).max() < _TOL:
                break
        fitted = cls(weights, means, deviations)
        total = float(logsumexp(fitted.log_joint(margins), axis=1).sum())
        return cls(weights, means, deviations, total)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters, by which AIC compares models."""
        return 3 * len(self.weights) - 1

    def log_joint(self, margins: Float64s) -> Float64s:
        """log of weight times density, n x components."""
        scaled = (margins[:, None] - self.means) / self.deviations
        return np.asarray(np.log(self.weights) - np.log(self.deviations) - 0.5 * scaled**2)

    def log_odds(self, margins: Float64s) -> Float64s:
        """Log-odds of being right, which never decrease: beyond the means they go on in straight lines."""
        low = self.means[0]
        inside = np.clip(margins, low, max(low, self.means[1:].min()))
        joint = self.log_joint(inside)
        odds = logsumexp(joint[:, 1:], axis=1) - joint[:, 0]
        return np.asarray(odds + (margins - inside) / self.deviations.max())


class MarginCut(Cut):
    """P(right) from a mixture over the margins of all classes: wrong labels, and one or two kinds of right ones.

    A margin above 0 says that the given class fits better than all others. Of wrong labels the right class fits at
    least about as well as the given one, so the mean of their component is at most ``highest_wrong``. Without this
    bound a mixture would split clean data in two. Right labels have a second component if Schwarz's criterion (BIC)
    wants it: easy samples and hard ones.

    Args:
        highest_wrong: largest mean of the margins of wrong labels, in squared cosines.
        max_iter: most EM iterations.

    Attributes:
        mixture_: the fitted mixture.
        alternatives_: with one and with two components of right labels.

    >>> margins = np.concatenate([np.linspace(-0.3, 0.1, 30), np.linspace(0.3, 0.6, 90)])
    >>> cut = MarginCut().fit(margins, np.zeros(120, dtype=int))
    >>> cut.p_clean(np.array([-0.2, 0.5]), np.array([0, 0])).round(2)
    array([0., 1.])
    """

    mixture_: MarginMixture
    alternatives_: list[MarginMixture]

    def __init__(self, *, highest_wrong: float = 0.03, max_iter: int = 300) -> None:
        self.highest_wrong = highest_wrong
        self.max_iter = max_iter

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed."""
        if self.max_iter < 1:
            raise InvalidOption(f"margin cut: max_iter must be at least 1, got {self.max_iter}")
        if not np.isfinite(self.highest_wrong):
            raise InvalidOption(f"margin cut: highest_wrong must be a number, got {self.highest_wrong}")

    def _fit(self, scores: Float64s, rows: ClassRows) -> Bools:
        margins = np.sort(scores[np.isfinite(scores)])
        if len(margins) > _MAX_SCORES:
            margins = margins[np.linspace(0, len(margins) - 1, _MAX_SCORES).round().astype(np.intp)]
        if len(margins) == 0:
            margins = np.zeros(1)
        cost = 0.5 * np.log(len(margins))
        self.alternatives_ = [
            MarginMixture.fit(margins, n_right, self.highest_wrong, self.max_iter) for n_right in (1, 2)
        ]
        self.mixture_ = max(
            self.alternatives_, key=lambda fitted: fitted.log_likelihood - cost * fitted.n_parameters
        )
        return self.constant_classes()

    def _p_clean(self, scores: Float64s, groups: Ints) -> Float64s:
        return np.asarray(expit(self.mixture_.log_odds(scores)))

    def describe(self) -> dict[str, Any]:
        """The mixture of all classes, component 0 that of wrong labels."""
        mixture = self.mixture_
        return {
            "kind": "margin",
            "weights": plain_numbers(mixture.weights),
            "means": plain_numbers(mixture.means),
            "variances": plain_numbers(mixture.deviations**2),
        }
