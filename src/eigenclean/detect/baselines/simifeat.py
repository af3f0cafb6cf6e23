"""SimiFeat: similar features should have the same label; neighbours vote, or rank with an estimated noise rate."""

from typing import ClassVar, Literal

import numpy as np

from eigenclean.arrays import Array, Bools, ClassRows, Float64s, Ints, row_chunks
from eigenclean.detect.baselines.hoc import NoiseEstimate, estimate_noise
from eigenclean.detect.baselines.neighbours import NeighbourDetector, check_count
from eigenclean.detect.cuts import Cut, QuantileCut
from eigenclean.names import check_name

_TIE = 1e-6  # weight of the mean cosine, which ranks unanimous neighbourhoods: they all have q = 1


class SimiFeat(NeighbourDetector):
    """SimiFeat (Zhu, Dong, Liu; ICML 2022): training-free detection from the labels of similar samples.

    The sample itself and its k − 1 nearest neighbours by cosine vote for their labels with weight 1 − distance; the
    sample's own distance, which would be 0, is extrapolated from the next two as 2d₁ − d₂. The votes for each
    class, as a unit vector q, are compared with the label ỹ:

    * ``mode="rank"``: by log q_ỹ, the lowest of each class are flagged: as many as HOC (`hoc.py`)
      expects to be wrong, 1 − P(y = k | ỹ = k).
    * ``mode="vote"``: flagged when another class than ỹ has most votes; the score is the difference.

    The published method repeats this over 21 random augmentations of the images; features are given here, so there
    is one round.

    Args:
        mode: "rank" or "vote".
        k: how many vote, the sample itself included.
        cut: "fixed" decides by the mode, as above; or another name, or a Cut, on the scores.
        threshold: labels are kept when P(right) is strictly above it.
        random_state: seed of the rows that HOC counts, if there are more than 15 000.

    Attributes:
        classes_: sorted labels.
        noise_: with ``mode="rank"``, HOC's transition matrix and prior.
        flag_shares_: with ``mode="rank"``, the share of each class to flag.
        cut_: the fitted cut.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[::10] = (wrong[::10] + 1) % 10
        >>> verdict = SimiFeat().judge(X, wrong)
        >>> bool(verdict.flagged[::10].mean() > 0.9), bool(verdict.flagged.mean() < 0.2)
        (True, True)
    """

    name: ClassVar[str] = "simifeat"
    _boundary = 0.0

    noise_: NoiseEstimate
    flag_shares_: Float64s

    def __init__(
        self,
        *,
        mode: Literal["rank", "vote"] = "rank",
        k: int = 10,
        cut: str | Cut = "fixed",
        threshold: float = 0.5,
        random_state: int | None = 0,
    ) -> None:
        self.mode = mode
        self.k = k
        self.cut = cut
        self.threshold = threshold
        self.random_state = random_state

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        check_name(self.mode, ("rank", "vote"), by="SimiFeat", what="mode")
        check_count(self.k, 3, by="SimiFeat", what="k")

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        self._store_training_rows(X, codes, weight)
        scores = self._score(X, codes)
        if self.mode == "rank":
            self._estimate_noise(X, codes, weight)
        return scores

    def _estimate_noise(self, X: Array, codes: Ints, weight: Float64s | None) -> None:
        weighted = np.ones(len(X), dtype=bool) if weight is None else weight > 0
        near = self._neighbours.find(X, codes, self.k - 1).index[weighted, :2]
        near = near[:, [0, -1]]  # where there is only one neighbour, it counts twice
        triples = np.column_stack([codes[weighted], self._neighbours.codes[near]])
        self.noise_ = estimate_noise(triples, len(self.classes_), random_state=self.random_state)
        wrong = 1.0 - self.noise_.p_right(self._shares)
        self.flag_shares_ = np.where(wrong <= 0, 0.05, np.where(wrong >= 1, 0.95, wrong))

    def _score(self, X: Array, codes: Ints) -> Float64s:
        neighbours = self._neighbours.find(X, codes, self.k - 1)
        distance = neighbours.distance
        own_weight = 1.0 - (2.0 * distance[:, 0] - distance[:, min(1, distance.shape[1] - 1)])
        scores = np.empty(len(X))
        for chunk in row_chunks(len(X), len(self.classes_) * 24):
            votes = self._votes(neighbours, chunk)
            at = np.arange(len(votes)), codes[chunk]
            votes[at] += own_weight[chunk]
            q = votes / np.maximum(np.sqrt(np.vecdot(votes, votes)), 1e-300)[:, None]
            q_label = q[at]
            if self.mode == "rank":
                scores[chunk] = np.log(np.maximum(q_label, 0.0) + 1e-8) + _TIE * votes[at] / self.k
            else:
                q[at] = -np.inf
                scores[chunk] = q_label - q.max(axis=1)
        return scores

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        return self._suggest_from(self._neighbours.find(X, codes, self.k - 1), codes, rows)

    def _method_cut(self) -> Cut | None:
        fixed = super()._method_cut()
        return fixed if fixed is None or self.mode == "vote" else _QuantilePerClassCut(self.flag_shares_)


class _QuantilePerClassCut(Cut):
    """The lowest scores of each class are flagged, a share of its own in every class."""

    def __init__(self, shares: Float64s) -> None:
        self.shares = shares

    def _fit(self, scores: Float64s, rows: ClassRows) -> Bools:
        zeros = np.zeros(len(scores), dtype=np.intp)
        self._cuts = [
            QuantileCut(fraction=float(share)).fit(scores[rows[k]], zeros[rows[k]], 1)
            for k, share in enumerate(self.shares)
        ]
        return self.constant_classes()

    def _p_clean(self, scores: Float64s, groups: Ints) -> Float64s:
        p = np.empty(len(scores))
        queried = ClassRows.of(groups, len(self._cuts))
        for k in np.flatnonzero(queried.counts).tolist():
            rows = queried[k]
            p[rows] = self._cuts[k]._p_clean(scores[rows], np.zeros(len(rows), dtype=np.intp))
        return p
