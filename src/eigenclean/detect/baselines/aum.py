"""AUM: the margin of a label's logit, compared with the margins of labels that are known to be wrong."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from eigenclean.arrays import Array, Bools, Float64s, Ints
from eigenclean.detect.baselines.head import LinearHead, LogitDetector, margins
from eigenclean.detect.cuts import Cut
from eigenclean.detect.folds import content_folds
from eigenclean.seeds import tagged_generator

_KEYS = 1 << 31
_RUNS = 2
_MIN_RATIO = 10  # at least so many samples for each threshold sample
_LARGER = 0.01  # share of threshold samples that may have a larger margin


class AUM(LogitDetector):
    """Area under the margin (Pleiss et al., NeurIPS 2020), with its threshold class.

    The margin is the logit of the given label minus the largest other. To know what margins wrong labels have,
    ⌊n/K⌋ random samples are relabelled to a class K+1 that does not exist, and the head is fitted again; a label is
    doubted when more than 1 % of those threshold samples have a larger margin. That is done twice with disjoint
    threshold samples, and a label is flagged when it is doubted in every run in which it was not a threshold sample
    itself. The score is the best of its margins over the threshold in those runs, so the rule is a cut at 0.
    Unlike in the paper, at most a tenth of the samples are relabelled: of two classes it would be half of them, and
    the extra class would be as likely as the right one.

    AUM itself is the mean of the margin over the epochs of a training, before wrong labels are memorised; that
    is part of training. A linear head has no epochs and does not memorise: its margin is out of sample instead.
    The rule is a strict one: of the clean labels of scikit-learn's digits it flags one in eight.

    Args:
        head: "linear": X are features, and cross-fitted linear heads give the logits. None: X are logits, n x K,
            such as the mean over epochs; nothing can be fitted again then, so the cut is at a margin of 0.
        n_folds: folds of the head.
        cut: "fixed" is the rule above; or another name, or a Cut.
        threshold: labels are kept when P(right) is strictly above it.
        random_state: seed of the threshold samples. Which ones are taken depends on their features, not on their
            order.

    Attributes:
        classes_: sorted labels.
        cut_: the fitted cut.
        thresholds_: the margin that a label needs in each run.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[::10] = (wrong[::10] + 1) % 10
        >>> verdict = AUM().judge(X, wrong)
        >>> bool(verdict.flagged[::10].mean() > 0.9), bool(verdict.flagged.mean() < 0.3)
        (True, True)
    """

    name: ClassVar[str] = "aum"

    thresholds_: list[float]

    def __init__(
        self,
        *,
        head: Literal["linear"] | None = "linear",
        n_folds: int = 5,
        cut: str | Cut = "fixed",
        threshold: float = 0.5,
        random_state: int | None = 0,
    ) -> None:
        self.head = head
        self.n_folds = n_folds
        self.cut = cut
        self.threshold = threshold
        self.random_state = random_state

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        self._fit_head(X, codes, weight)
        self._runs = [] if self._head is None else self._threshold_runs(X, codes, weight, self._head.shrinkage)
        self.thresholds_ = [run.threshold for run in self._runs]
        return self._score(X, codes)

    def _threshold_runs(self, X: Array, codes: Ints, weight: Float64s | None, shrinkage: float) -> list["_Run"]:
        """One run for each set of threshold samples; equal rows are in the same set, so the second may be empty."""
        k = len(self.classes_)
        self._multiplier = int(tagged_generator(self.random_state, "threshold samples").integers(_KEYS)) | 1
        keys = self._keys(X)
        weighted = np.ones(len(X), dtype=bool) if weight is None else weight > 0
        ordered, size = np.sort(keys[weighted]), max(1, int(weighted.sum()) // max(k, _MIN_RATIO))
        ends = [-1, *(int(ordered[min(size * (run + 1), len(ordered)) - 1]) for run in range(_RUNS))]
        runs = []
        for low, high in pairwise(ends):
            chosen = (keys > low) & (keys <= high) & weighted
            if chosen.any():
                relabelled = np.where(chosen, k, codes)
                head = LinearHead.fit(X, relabelled, k + 1, weight, self.n_folds, [shrinkage])
                threshold = _threshold(margins(head.logits(X[chosen]), relabelled[chosen]))
                runs.append(_Run(head, low, high, threshold))
        return runs

    def _keys(self, X: Array) -> Ints:
        """A random number for each row that depends on its content alone."""
        return (content_folds(X, _KEYS) * self._multiplier) % _KEYS

    def _score(self, X: Array, codes: Ints) -> Float64s:
        if not self._runs:
            return super()._score(X, codes)
        keys = self._keys(X)
        above = np.stack([margins(run.head.logits(X), codes) - run.threshold for run in self._runs])
        relabelled = np.stack([run.relabelled(keys) for run in self._runs])
        relabelled[:, relabelled.all(axis=0)] = False  # all rows are equal, so there was only one run
        return np.asarray(np.where(relabelled, -np.inf, above).max(axis=0))

    def _score_logits(self, logits: Float64s, codes: Ints) -> Float64s:
        return margins(logits, codes)


@dataclass(frozen=True)
class _Run:
    """A head with the extra class; rows with keys in (low, high] were threshold samples."""

    head: LinearHead
    low: int
    high: int
    threshold: float

    def relabelled(self, keys: Ints) -> Bools:
        """Which rows were threshold samples in this run."""
        return np.asarray((keys > self.low) & (keys <= self.high))


def _threshold(margin: Float64s) -> float:
    """The margin below which a label is doubted: more than 1 % of these are larger than anything below it."""
    at = len(margin) - 1 - int(_LARGER * len(margin))
    return float(np.partition(margin, at)[at])
