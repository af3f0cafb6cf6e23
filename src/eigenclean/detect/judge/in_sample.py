"""Features of a network that was trained on the given labels: margins of FINE's alignments instead of views.

Such a network moves a sample towards its given class, and may know wrong labels by heart. Then no view is out of
sample, the labels look likely, and the likelihood says that there is no noise. The first eigenvector of a class is
made by the many, not by the few (Kim et al., NeurIPS 2021): a sample that was learned by heart is still aligned
with its right class about as well as with its given one.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect.block_detector import BlockScores
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.cuts import MarginCut
from eigenclean.detect.fine.relative import FINERelative
from eigenclean.detect.judge.transition_matrix import PairCounts, TransitionMatrix

HIDDEN = 0.9  # views that find less than this share of the noise that the margins show do not see all of it


@dataclass(frozen=True, eq=False)
class AlignmentMargins:
    """P(right) from how much better a row is aligned with its given class than with the best other one.

    Attributes:
        fine: gives the margins, in squared cosines.
        cut: turns them into probabilities.
        block_scores: log-odds of being right of all rows, and suggestions.
        noise_rates: expected shares of wrong labels: by the cut, and by the alternatives to it.
    """

    fine: FINERelative
    cut: MarginCut
    block_scores: BlockScores
    noise_rates: Float64s

    @classmethod
    def fit(
        cls,
        features: Blocks[Array],
        codes: Blocks[Ints],
        weights: Blocks[Float64s] | None,
        classes: Array,
        n_features: int,
        exponent: int,
    ) -> "AlignmentMargins":
        """Learn from rows in blocks whose labels are ``classes[codes]``."""
        fine = FINERelative(score="sq_cos", keep_moments=False)
        fine.classes_, fine.n_features_in_, fine.feature_exponent_ = classes, n_features, exponent
        scored = fine._learn_blocks(features, codes, weights)
        margins = np.concatenate(list(scored.scores))
        cut = MarginCut().fit(margins, np.concatenate(list(codes)), len(classes))
        mixtures = [cut.mixture_, *cut.alternatives_]
        rates = [float(expit(-mixture.log_odds(margins)).mean()) for mixture in mixtures]
        block_scores = BlockScores(
            scored.scores.map(_log_odds, args=(cut,)), lambda flagged, _: scored.suggest(flagged, cut)
        )
        return cls(fine, cut, block_scores, np.array([*rates, float(np.mean(margins < 0))]))

    def transition(self, codes: Blocks[Ints], n_classes: int) -> TransitionMatrix:
        """Where errors come from, if the right class of a wrong label is the suggested one."""
        suggestions = self.block_scores.suggest(codes.map(_all_rows), self.cut)
        pairs = self.block_scores.scores.total(_pair_counts, codes, suggestions, args=(n_classes,))
        return TransitionMatrix.from_counts(pairs, n_classes)

    def log_odds(self, X: Array, codes: Ints) -> Float64s:
        """Log-odds that the labels of new rows are right."""
        return _log_odds(self.fine._score(X, codes), self.cut)

    def suggest(self, X: Array, codes: Ints, rows: Ints) -> tuple[Ints, Float64s]:
        """The best aligned other class of these rows, and its probability among the other classes."""
        return self.fine._suggest(X, codes, rows, self.cut)


def _log_odds(margins: Float64s, cut: MarginCut) -> Float64s:
    return cut.mixture_.log_odds(margins)


def _all_rows(codes: Ints) -> Ints:
    return np.arange(len(codes))


def _pair_counts(log_odds: Float64s, codes: Ints, suggestion: tuple[Ints, Float64s], k: int) -> PairCounts:
    """Expected numbers of labels for pairs (right class, given class)."""
    p_right = expit(log_odds)
    pairs = np.concatenate([codes * k + codes, suggestion[0] * k + codes])
    keys, index = np.unique(pairs, return_inverse=True)
    counts = np.bincount(index, np.concatenate([p_right, 1.0 - p_right]), len(keys))
    return PairCounts(keys.astype(np.int64), counts.astype(np.float64, copy=False))
