"""Confident learning, through the cleanlab library."""

import warnings
from types import ModuleType
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from eigenclean.arrays import Array, Bools, ClassRows, Float64s, Ints
from eigenclean.detect.baselines.head import LogitDetector
from eigenclean.detect.cuts import Cut, FixedCut
from eigenclean.extras import require

_UNREACHABLE = 1.01  # above any difference of two probabilities


class ConfidentLearning(LogitDetector):
    """Confident learning (Northcutt, Jiang, Chuang; JAIR 2021) by cleanlab, on out-of-sample probabilities.

    cleanlab counts how many labels k ought to be j (those whose p_j reaches the mean p_j of the samples labelled j)
    and prunes by noise rate: for each pair it flags that many samples of class k with the largest margin p_j − p_k.
    Needs ``pip install 'eigenclean[cleanlab]'``.

    Its flags are not a cut in any of its quality scores, so the score is cleanlab's quality p_ỹ (self-confidence),
    minus 2 where it flags: flagged samples rank below all others, each group in its order. The flags are stored as
    the margins where they begin, which reproduces them on the data of `fit` (except that copies of a row are
    treated alike) and gives a rule for new samples.

    Args:
        head: "linear": X are features, and a cross-fitted linear head gives the logits; None: X are logits, n x K.
        n_folds: folds of the head.
        cut: "fixed" is cleanlab's decision; or another name, or a Cut.
        threshold: labels are kept when P(right) is strictly above it.

    Attributes:
        classes_: sorted labels.
        bounds_: K x K, the margin p_j − p_k from which on samples labelled k are flagged; the most probable
            label never is.
        cut_: the fitted cut.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[::10] = (wrong[::10] + 1) % 10
        >>> verdict = ConfidentLearning().judge(X, wrong)
        >>> bool(verdict.flagged[::10].mean() > 0.8), bool(verdict.flagged.mean() < 0.2)
        (True, True)
    """

    name: ClassVar[str] = "confident"

    bounds_: Float64s

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        cleanlab = require("cleanlab", extra="cleanlab", caller="detector confident")
        self._fit_head(X, codes, weight)
        logits = self._logits(X)
        p = softmax(logits, axis=1)
        self.bounds_ = _bounds(p, codes, _flags(cleanlab, p, codes))
        return self._score_logits(logits, codes)

    def _score_logits(self, logits: Float64s, codes: Ints) -> Float64s:
        p = softmax(logits, axis=1)
        quality = p[np.arange(len(codes)), codes]
        beyond = (p - quality[:, None] > self.bounds_[codes]).any(axis=1)
        return np.asarray(quality - 2.0 * (beyond & (p.argmax(axis=1) != codes)))

    def _method_cut(self) -> Cut | None:
        return FixedCut(at=-0.5) if self.cut == "fixed" else None


def _flags(cleanlab: ModuleType, p: Float64s, codes: Ints) -> Bools:
    with warnings.catch_warnings():
        # A class of one sample: the detector itself says that it is kept whole.
        warnings.filterwarnings("ignore", message="May not flag all label issues")
        flags = cleanlab.filter.find_label_issues(codes, p, filter_by="prune_by_noise_rate", n_jobs=1)
    return np.asarray(flags, dtype=bool)


def _bounds(p: Float64s, codes: Ints, flagged: Bools) -> Float64s:
    """For each pair, half way between the largest margin that was kept and the smallest one beyond it.

    What cleanlab flags for a pair has larger margins there than anything it keeps, except the most probable labels;
    so these bounds reproduce its flags.
    """
    k = p.shape[1]
    rows, bounds = ClassRows.of(codes, k), np.full((k, k), _UNREACHABLE)
    for c in range(k):
        margin, is_flagged = p[rows[c]] - p[rows[c], c][:, None], flagged[rows[c]]
        contested = p[rows[c]].argmax(axis=1) != c
        highest_kept = margin[~is_flagged & contested].max(axis=0, initial=-1.0)
        lowest_flagged = np.where(margin[is_flagged] > highest_kept, margin[is_flagged], np.inf).min(
            axis=0, initial=np.inf
        )
        bounds[c] = np.where(np.isfinite(lowest_flagged), 0.5 * (highest_kept + lowest_flagged), _UNREACHABLE)
    return bounds
