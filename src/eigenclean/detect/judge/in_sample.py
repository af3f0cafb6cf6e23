"""Features of a network that was trained on the given labels: what the first eigenvectors of the classes say.

Such a network moves a sample towards its given class, and may know wrong labels by heart. Then no view is out of
sample, the labels look likely, and the likelihood says that there is no noise. The first eigenvector of a class is
made by the many, not by the few (Kim et al., NeurIPS 2021): a sample that was learned by heart is still aligned
with its right class about as well as with its given one. So there are two more judgements, each of which keeps less
of what was learned by heart: discriminants of the coordinates along the first eigenvectors, and the margin by which
a sample is better aligned with its given class than with any other. Which of the three is used depends on how much
noise each of them finds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect.block_detector import BlockDetector, BlockScores
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.cuts import FixedCut
from eigenclean.detect.fine.relative import FINERelative
from eigenclean.detect.judge.fitting import JudgeFitter
from eigenclean.detect.judge.repeats import FittedRepeat
from eigenclean.detect.judge.transition_matrix import PairCounts, TransitionMatrix
from eigenclean.detect.judge.unit_rows import MAX_COLUMNS, RowNormalizer, sum_of_directions

# A judgement that finds less than this share of the noise that another one shows does not see all of it; noise
# rates that differ by less than SLACK are the same.
HIDDEN, SLACK = 0.9, 0.01
VIEWS, LEADING, ALIGNMENT = "views", "leading directions", "alignment"
_MAX_MARGINS = 1 << 14  # evenly spaced order statistics have the same distribution as all margins
_MAX_ITER, _MIN_DEVIATION = 300, 3e-3
_MIN_FLAGGED = 20  # fewer labels say nothing about how often the eigenvectors fail


@dataclass(frozen=True, eq=False)
class AlignmentMargins:
    """P(right) from how much better a row is aligned with its given class than with the best other one.

    Attributes:
        fine: gives the margins, in squared cosines.
        cut: at margin 0, for suggestions.
        slope: log-odds of being right per unit of margin.
        block_scores: log-odds of being right of all rows, and suggestions.
        below_zero: share of labels with a class that fits better. Too high a noise rate where the eigenvectors tell
            the classes apart badly.
        clearly_other: share of labels that another class fits better by as much as a typical label with a positive
            margin is fitted better by its own. Too low a noise rate where wrong labels were learned by heart.
        expected: expected share of wrong labels by the log-odds.
    """

    fine: FINERelative
    cut: FixedCut
    slope: float
    block_scores: BlockScores
    below_zero: float
    clearly_other: float
    expected: float

    @classmethod
    def fit(
        cls, features: Blocks[Array], codes: Blocks[Ints], weights: Blocks[Float64s] | None, judge: BlockDetector
    ) -> "AlignmentMargins":
        """Learn from rows in blocks whose labels are ``judge.classes_[codes]``."""
        fine, classes = FINERelative(score="sq_cos", keep_moments=False), judge.classes_
        fine.classes_, fine.n_features_in_ = classes, judge.n_features_in_
        fine.feature_exponent_ = judge.feature_exponent_
        scored = fine._learn_blocks(features, codes, weights)
        margins = np.concatenate(list(scored.scores))
        cut = FixedCut(at=0.0)
        cut.fit(margins, np.concatenate(list(codes)), len(classes))
        positive = margins[margins > 0]
        typical = float(np.median(positive)) if len(positive) else 0.0
        # At the margin of a typical label the odds are at least those of e² to 1.
        slope = max(margin_slope(margins), 2.0 / max(typical, _MIN_DEVIATION))
        return cls(
            fine,
            cut,
            slope,
            BlockScores(scored.scores.map(_scaled, args=(slope,)), lambda flagged, _: scored.suggest(flagged, cut)),
            float(np.mean(margins < 0)),
            float(np.mean(margins < -typical)),
            float(np.mean(expit(-slope * margins))),
        )

    def error_rate(self, views: BlockScores) -> float | None:
        """How often the eigenvectors prefer another class than the views do, among labels that these call wrong.

        None if the views call hardly a label wrong.
        """
        flagged = views.scores.map(_flagged_rows)
        suggestions = views.suggest(flagged, self.cut), self.block_scores.suggest(flagged, self.cut)
        same, total = self.block_scores.scores.total(_agreements, flagged, *suggestions)
        return None if total < _MIN_FLAGGED else 1.0 - float(same / total)

    def are_explained(self, view_rate: float, error_rate: float | None) -> bool:
        """Whether so many margins are below 0 as the noise that the views find, and failures on right labels, make.

        Early in a training the eigenvectors of all classes are nearly parallel, and many margins of right labels
        are below 0. That must not pass for noise that the views do not see.
        """
        return error_rate is not None and sees_the_noise(
            view_rate + (1.0 - view_rate) * error_rate, self.below_zero
        )

    def transition(self, codes: Blocks[Ints], n_classes: int) -> TransitionMatrix:
        """Where errors come from, if the right class of a wrong label is the suggested one."""
        suggestions = self.block_scores.suggest(codes.map(_all_rows), self.cut)
        pairs = self.block_scores.scores.total(_pair_counts, codes, suggestions, args=(n_classes,))
        return TransitionMatrix.from_counts(pairs, n_classes)

    def log_odds(self, X: Array, codes: Ints) -> Float64s:
        """Log-odds that the labels of new rows are right."""
        return _scaled(self.fine._score(X, codes), self.slope)

    def suggest(self, X: Array, codes: Ints, rows: Ints) -> tuple[Ints, Float64s]:
        """The best aligned other class of these rows, and its probability among the other classes."""
        return self.fine._suggest(X, codes, rows, self.cut)


def choose_judgement(
    fits: list[FittedRepeat],
    fitter: JudgeFitter,
    views: BlockScores,
    margins: AlignmentMargins,
    new_fitter: Callable[..., JudgeFitter],
    features: Blocks[Array],
) -> tuple[str, list[FittedRepeat], JudgeFitter]:
    """`VIEWS`, `LEADING` or `ALIGNMENT`, and the fits of the views or of the leading directions.

    ``views`` are the scores by the fits of the views. The leading directions are the coordinates of unit rows along
    the eigenvectors. They are not tried if hardly a direction would be left out, or if there are more columns than
    the judge uses.
    """
    view_rate, (k, d) = noise_rate(fits), margins.fine.eigenvectors_.shape
    if margins.are_explained(view_rate, margins.error_rate(views)):
        return VIEWS, fits, fitter
    if 2 * k > d or d > MAX_COLUMNS:
        return trusted_judgement(margins.clearly_other, margins.below_zero, view_rate, 0.0), fits, fitter
    centre = np.asarray(features.total(sum_of_directions, args=(False,)) / fitter.n)
    basis = np.linalg.qr(margins.fine.eigenvectors_.T.astype(np.float64))[0].T
    row_map = RowNormalizer(False, centre, np.ascontiguousarray(basis))
    leading_fitter = new_fitter(None, names=("linear",), row_map=row_map)
    leading = [leading_fitter.fit(0)]
    trusted = trusted_judgement(margins.clearly_other, margins.below_zero, view_rate, noise_rate(leading))
    return (trusted, leading, leading_fitter) if trusted == LEADING else (trusted, fits, fitter)


def trusted_judgement(clearly_other: float, below_zero: float, views: float, leading: float) -> str:
    """Which judgement sees the noise, given the noise rates of the margins, the views and the leading directions.

    The likelihood cannot decide: it prefers what the network knows by heart. The margins have a noise rate that is
    too low (``clearly_other``) and one that is too high (``below_zero``); what they show is between them, on the
    scale of ratios.

    >>> trusted_judgement(0.2, 0.4, 0.3, 0.31), trusted_judgement(0.2, 0.4, 0.2, 0.3)
    ('views', 'leading directions')
    """
    if sees_the_noise(views, clearly_other, leading):
        return VIEWS
    return LEADING if sees_the_noise(leading, float(np.sqrt(clearly_other * below_zero))) else ALIGNMENT


def noise_rate(fits: Sequence[FittedRepeat]) -> float:
    """Expected share of wrong labels, the mean over the repeats."""
    return float(np.mean([1.0 - fit.sums.right_per_class.sum() / fit.sums.counts.sum() for fit in fits]))


def sees_the_noise(estimated: float, *others: float) -> bool:
    """Whether a judgement that finds this noise rate sees about as much noise as each of the others shows.

    >>> sees_the_noise(0.18, 0.19, 0.05), sees_the_noise(0.01, 0.02), sees_the_noise(0.1, 0.3)
    (True, True, False)
    """
    return estimated >= HIDDEN * max(others) - SLACK


def margin_slope(margins: Float64s) -> float:
    """Log-odds of being right per unit of margin, if wrong and right labels were equally frequent.

    Margins are two normal distributions of the same variance, fitted by EM. Their weights are not used: the labels
    change sides at margin 0, where the given class stops being the best one, whatever the noise rate. A boundary
    that the mixture chose would move far away from 0 where the two distributions overlap.

    >>> rng = np.random.default_rng(0)
    >>> margins = np.concatenate([rng.normal(0.3, 0.1, 4000), rng.normal(-0.2, 0.1, 1000)])
    >>> round(margin_slope(margins))  # (0.3 + 0.2) / 0.1²
    50
    """
    margins = np.sort(margins[np.isfinite(margins)])
    if len(margins) > _MAX_MARGINS:
        margins = margins[np.linspace(0, len(margins) - 1, _MAX_MARGINS).round().astype(np.intp)]
    if len(margins) == 0 or margins[0] >= 0 or margins[-1] <= 0:
        return 1.0 / max(float(np.std(margins)) if len(margins) else 0.0, _MIN_DEVIATION)
    right, wrong = float(np.median(margins[margins > 0])), float(np.median(margins[margins < 0]))
    variance, weight = float(margins.var()) / 4, 0.5
    for _ in range(_MAX_ITER):
        odds = np.log(weight / (1 - weight)) + (right - wrong) / variance * (margins - (right + wrong) / 2)
        p_right = expit(odds)
        before, mass = (right, wrong), float(p_right.sum())
        weight = float(np.clip(mass / len(margins), 0.02, 0.98))
        right = float(p_right @ margins) / max(mass, 1e-9)
        wrong = float((1 - p_right) @ margins) / max(len(margins) - mass, 1e-9)
        squares = p_right * (margins - right) ** 2 + (1 - p_right) * (margins - wrong) ** 2
        variance = max(float(squares.mean()), _MIN_DEVIATION**2)
        if np.abs(np.subtract(before, (right, wrong))).max() < 1e-6:
            break
    return (right - wrong) / variance


def _scaled(margins: Float64s, slope: float) -> Float64s:
    return np.asarray(slope * margins)


def _flagged_rows(log_odds: Float64s) -> Ints:
    return np.flatnonzero(log_odds <= 0)


def _agreements(
    log_odds: Float64s, flagged: Ints, views: tuple[Ints, Float64s], margins: tuple[Ints, Float64s]
) -> Ints:
    """How many of the flagged rows have margins below 0 and the same suggestion, and how many there are."""
    same = (views[0] == margins[0]) & (log_odds[flagged] < 0)
    return np.array([np.count_nonzero(same), len(flagged)])


def _all_rows(codes: Ints) -> Ints:
    return np.arange(len(codes))


def _pair_counts(log_odds: Float64s, codes: Ints, suggestion: tuple[Ints, Float64s], k: int) -> PairCounts:
    """Expected numbers of labels for pairs (right class, given class)."""
    p_right = expit(log_odds)
    pairs = np.concatenate([codes * k + codes, suggestion[0] * k + codes])
    keys, index = np.unique(pairs, return_inverse=True)
    counts = np.bincount(index, np.concatenate([p_right, 1.0 - p_right]), len(keys))
    return PairCounts(keys.astype(np.int64), counts.astype(np.float64, copy=False))
