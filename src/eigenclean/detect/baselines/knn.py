"""KNN: a label is flagged when another one has more votes among the nearest neighbours."""

from typing import ClassVar

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints, row_chunks
from eigenclean.detect.baselines.neighbours import NeighbourDetector, check_count
from eigenclean.detect.cuts import Cut

_PRIOR = 0.5  # votes spread over all classes by their size, so that the scores of unanimous neighbourhoods differ


class KNN(NeighbourDetector):
    """The k nearest neighbours by cosine vote for their labels, each with its cosine.

    The score is the votes for the given label as a share of the votes for it and for the strongest other label
    (edited nearest neighbours, Wilson 1972, with weights). It passes ½ where another label has more votes, whether
    most labels are wrong or few: a share of *all* votes would not. Half a vote is spread over
    the classes by their size, so that the closer of two unanimous neighbourhoods counts for more.

    Args:
        k: how many neighbours vote, the sample itself excepted.
        cut: "fixed" cuts at ½, where another label has more votes; or another name, or a Cut.
        threshold: labels are kept when P(right) is strictly above it.

    Attributes:
        classes_: sorted labels.
        cut_: the fitted cut.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[::10] = (wrong[::10] + 1) % 10
        >>> verdict = KNN().judge(X, wrong)
        >>> bool(verdict.flagged[::10].mean() > 0.9), bool(verdict.flagged.mean() < 0.2)
        (True, True)
    """

    name: ClassVar[str] = "knn"

    def __init__(self, *, k: int = 10, cut: str | Cut = "fixed", threshold: float = 0.5) -> None:
        self.k = k
        self.cut = cut
        self.threshold = threshold

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        check_count(self.k, 1, by="KNN", what="k")

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        self._store_training_rows(X, codes, weight)
        return self._score(X, codes)

    def _score(self, X: Array, codes: Ints) -> Float64s:
        neighbours = self._neighbours.find(X, codes, self.k)
        scores = np.empty(len(X))
        for chunk in row_chunks(len(X), len(self.classes_) * 24):
            votes = self._votes(neighbours, chunk) + _PRIOR * self._shares
            at = np.arange(len(votes)), codes[chunk]
            for_label = votes[at]
            votes[at] = 0.0
            scores[chunk] = for_label / (for_label + votes.max(axis=1))
        return scores

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        return self._suggest_from(self._neighbours.find(X, codes, self.k), codes, rows)
