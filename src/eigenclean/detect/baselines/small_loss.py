"""Small loss: labels with a small cross-entropy are right; a mixture on the losses separates them."""

from typing import ClassVar, Literal

import numpy as np
from scipy.special import log_softmax

from eigenclean.arrays import Bools, ClassRows, Float64s, Ints
from eigenclean.detect.baselines.head import LogitDetector
from eigenclean.detect.cuts import Cut, GaussianCut


class SmallLoss(LogitDetector):
    """The loss mixture of DivideMix (Li, Socher, Hoi; ICLR 2020), after Arazo et al. (ICML 2019).

    The score is minus the cross-entropy of the given label. Losses of *all* classes together are scaled to [0, 1]
    and split by one mixture of two Gaussians (at most 10 iterations of EM, tolerance 0.01, 0.0005 added to the
    variances); the component with the smaller mean holds the right labels. There are always two components, so on
    clean data the hard samples are flagged. DivideMix takes the losses of a network in training, where they are
    smaller for right labels because those are learned first; the default head gives them out of sample.

    Args:
        head: "linear": X are features, and a cross-fitted linear head gives the logits; None: X are logits, n x K.
        n_folds: folds of the head.
        cut: "gaussian" is the mixture above; ``GaussianCut()`` is one for each class; or another name, or a Cut.
        threshold: labels are kept when P(right) is strictly above it.

    Attributes:
        classes_: sorted labels.
        cut_: the fitted cut.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[::10] = (wrong[::10] + 1) % 10
        >>> verdict = SmallLoss().judge(X, wrong)
        >>> bool(verdict.flagged[::10].mean() > 0.9), bool(verdict.flagged.mean() < 0.2)
        (True, True)
    """

    name: ClassVar[str] = "small-loss"

    def __init__(
        self,
        *,
        head: Literal["linear"] | None = "linear",
        n_folds: int = 5,
        cut: str | Cut = "gaussian",
        threshold: float = 0.5,
    ) -> None:
        self.head = head
        self.n_folds = n_folds
        self.cut = cut
        self.threshold = threshold

    def _score_logits(self, logits: Float64s, codes: Ints) -> Float64s:
        return np.asarray(log_softmax(logits, axis=1)[np.arange(len(codes)), codes])

    def _method_cut(self) -> Cut | None:
        return SharedMixtureCut() if self.cut == "gaussian" else super()._method_cut()


def divide_mixture() -> GaussianCut:
    """The mixture with the settings of DivideMix, for scores on the scale [0, 1]."""
    return GaussianCut(max_iter=10, tol=1e-2, regularisation=5e-4, split="always")


class SharedMixtureCut(Cut):
    """One mixture for the scores of all classes, scaled to [0, 1], with the settings of DivideMix.

    >>> cut = SharedMixtureCut().fit(np.array([-9.0, -8.0, -1.0, 0.0] * 3), np.array([0, 1, 1, 0] * 3))
    >>> cut.p_clean(np.array([-8.5, -0.5]), np.array([0, 1])).round(2)
    array([0., 1.])
    """

    def _fit(self, scores: Float64s, rows: ClassRows) -> Bools:
        self._low, high = float(scores.min()), float(scores.max())
        self._range = max(high - self._low, 1e-300)
        self._mixture = divide_mixture().fit(
            (scores - self._low) / self._range, np.zeros(len(scores), dtype=np.intp), 1
        )
        return np.full(len(rows), self._mixture.whole_[0])

    def _p_clean(self, scores: Float64s, groups: Ints) -> Float64s:
        return self._mixture.p_clean((scores - self._low) / self._range, np.zeros(len(scores), dtype=np.intp))
