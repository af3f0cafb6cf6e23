"""CORES²: a label is kept when its loss is below the average loss of all labels."""

from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from eigenclean.arrays import Float64s, Ints
from eigenclean.detect.baselines.head import LogitDetector

_FLOOR = 1e-8


class CORES2(LogitDetector):
    """The sample sieve of CORES² (Cheng et al., ICLR 2021).

    A label is kept when its loss −log p is at most the mean of ℓ(c) = −log(p_c + 1e-8) over all classes c: when it
    is better than a label drawn at random. The score is mean ℓ(c) + log p, cut at 0. The rule flags few
    labels: the second best of ten classes is usually kept. In training, CORES² also regularises the network towards
    confident predictions; that part belongs to training.

    Args:
        head: "linear": X are features, and a cross-fitted linear head gives the logits; None: X are logits, n x K.
        n_folds: folds of the head.
        cut: "fixed" cuts at 0; or another name, or a Cut.
        threshold: labels are kept when P(right) is strictly above it.

    Attributes:
        classes_: sorted labels.
        cut_: the fitted cut.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[::10] = (wrong[::10] + 1) % 10
        >>> verdict = CORES2().judge(X, wrong)
        >>> bool(verdict.flagged[::10].mean() > 5 * verdict.flagged.mean()), bool(verdict.flagged.mean() < 0.1)
        (True, True)
    """

    name: ClassVar[str] = "cores2"

    def _score_logits(self, logits: Float64s, codes: Ints) -> Float64s:
        log_p = log_softmax(logits, axis=1)
        return np.asarray(log_p[np.arange(len(codes)), codes] - np.log(np.exp(log_p) + _FLOOR).mean(axis=1))
