"""What the two mixture cuts share: the posterior of the upper component, and whether there are two at all."""

from typing import Any, ClassVar, Literal

import numpy as np

from eigenclean.arrays import Bools, ClassRows, Float64s, Ints
from eigenclean.detect.cuts.base import Cut, plain_numbers
from eigenclean.errors import InvalidOption
from eigenclean.mixture import Family, Mixtures, fit_mixtures, two_components_pay

_PAYS = 0.01  # nats per sample that a second component must gain; measured on real clean and noisy classes


class MixtureCut(Cut):
    """Posterior of the upper of two components, fitted to the scores of each class alone.

    Args:
        max_iter: most EM rounds (the released code: 100, and 10 inside F-DivideMix).
        tol: change of the mean log-likelihood at which EM stops.
        regularisation: added to every variance.
        monotone: hold the posterior at its turning point, so that the best scores are never dismissed. The paper
            and its code do not.
        split: "bic" splits a class only when two components explain it better than one, so that a clean class
            stays whole; "always" splits every class, as the paper does.
        standardise: scale the scores of each class to unit variance first, which makes ``regularisation``
            scale-free.
        min_samples: classes smaller than this are kept whole.

    Attributes:
        mixtures_: the fitted mixtures.
        split_: for each class, whether it was split in two.
    """

    family: ClassVar[Family]

    def __init__(
        self,
        *,
        max_iter: int = 100,
        tol: float = 1e-6,
        regularisation: float = 1e-6,
        monotone: bool = True,
        split: Literal["bic", "always"] = "bic",
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
    split_: Bools

    def _fit(self, scores: Float64s, rows: ClassRows) -> Bools:
        if self.split not in ("bic", "always"):
            raise InvalidOption(f"split must be 'bic' or 'always', got {self.split!r}")
        self._shift, self._spread = _unit(scores, rows) if self.standardise else _identity(len(rows))
        groups = np.empty(len(scores), dtype=np.intp)
        groups[rows.order] = np.repeat(np.arange(len(rows)), rows.counts)
        self.mixtures_ = fit_mixtures(
            self._scaled(scores, groups),
            rows,
            family=self.family,
            max_iter=self.max_iter,
            tol=self.tol,
            regularisation=self.regularisation,
            min_samples=self.min_samples,
        )
        self.split_ = self.mixtures_.valid.copy()
        if self.split == "bic":
            natural = _natural_scale(scores)
            two = fit_mixtures(
                natural, rows, max_iter=50, tol=1e-4, regularisation=1e-9, min_samples=self.min_samples
            )
            self.split_ &= two_components_pay(natural, rows, two, margin=_PAYS)
        return np.asarray(~self.mixtures_.valid)

    def _p_clean(self, scores: Float64s, groups: Ints) -> Float64s:
        p = self.mixtures_.posterior(self._scaled(scores, groups), groups, monotone=self.monotone)
        p[~self.split_[groups]] = 1.0
        return p

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
            "split": self.split_.tolist(),
        }
        if self.family == "beta":
            record["alpha"] = plain_numbers(self.mixtures_.natural[..., 0] + 1)
            record["beta"] = plain_numbers(self.mixtures_.natural[..., 1] + 1)
            low, width = self.mixtures_.scale[:, :1] * spread + shift, self.mixtures_.scale[:, 1:] * spread
            record["range"] = plain_numbers(np.concatenate([low, low + width], axis=1))
        return record


def _natural_scale(scores: Float64s) -> Float64s:
    """The scale on which a single clean class looks normal, so that its skew is not taken for a second component.

    A cosine s piles up below 1, where the angle is √(2(1 − s)): −log(1 − s) is a log-angle. Other positive scores
    (squared lengths) spread over orders of magnitude: their logarithm. Anything else stays.
    """
    if len(scores) == 0 or scores.min() < 0:
        return scores
    if scores.max() <= 1:
        return np.asarray(-np.log(np.maximum(1 - scores, 1e-6)))
    return np.asarray(np.log(np.maximum(scores, 1e-6 * scores.max())))


def _unit(scores: Float64s, rows: ClassRows) -> tuple[Float64s, Float64s]:
    codes = np.repeat(np.arange(len(rows)), rows.counts)
    ordered, n = scores[rows.order], np.maximum(rows.counts, 1)
    mean = np.bincount(codes, ordered, len(rows)) / n
    spread = np.sqrt(np.bincount(codes, (ordered - mean[codes]) ** 2, len(rows)) / n)
    return mean, np.where(spread > 0, spread, 1.0)


def _identity(k: int) -> tuple[Float64s, Float64s]:
    return np.zeros(k), np.ones(k)
