"""Repeated cross-fitting: what the judge has learned under one assignment of rows to folds, and means over several.

With few rows the verdict depends on which rows are in which fold. So few rows are assigned to folds several times,
everything is fitted anew, and the probabilities are averaged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect.folds import content_hash, folds_of_hashes
from eigenclean.detect.group_folds import GroupFolds
from eigenclean.detect.judge.candidate_blocks import MAX_SAMPLE, CandidateBlocks
from eigenclean.detect.judge.candidates import MAX_DENSE_CLASSES, Candidates
from eigenclean.detect.judge.discriminants import Discriminants
from eigenclean.detect.judge.instance_noise import AveragedNoiseModel, PosteriorSums, mean_log_odds
from eigenclean.detect.judge.transition_matrix import PairCounts, TransitionMatrix
from eigenclean.detect.judge.unit_rows import RowMap, UnitRows
from eigenclean.detect.judge.views.base import FixedScores, FixedView

REPEATED_ROWS = 3000  # rows are assigned to folds again until about so many have been judged
MAX_REPEATS = 5  # more change little


def default_repeats(n_rows: int, n_classes: int) -> int:
    """How often ``n_rows`` are assigned to folds: the fewer, the more often; large data once."""
    if n_classes > MAX_DENSE_CLASSES:  # the candidates would differ from repeat to repeat
        return 1
    return min(max(REPEATED_ROWS // max(n_rows, 1), 1), MAX_REPEATS)


@dataclass(frozen=True, eq=False)
class Repeat:
    """What was learned under one assignment of rows to folds.

    Attributes:
        number: of the assignment; the first is 0.
        n_folds: number of folds.
        row_maps: how rows are prepared for each view of moments.
        discriminants: of each view of moments.
        fixed_views: the other views.
        model: the noise model.
        groups: assigns the rows of groups to folds; None if rows are assigned by their content.
    """

    number: int
    n_folds: int
    row_maps: Sequence[RowMap]
    discriminants: Sequence[Discriminants]
    fixed_views: Sequence[FixedView]
    model: AveragedNoiseModel
    groups: GroupFolds | None = None

    def candidates(self, features: Array, codes: Ints, probabilities: Array | None) -> Candidates:
        """The candidate classes of rows, each by what was learned without its fold."""
        hashes = content_hash(features)
        folds = (folds_of_hashes if self.groups is None else self.groups.folds)(hashes, self.n_folds, self.number)
        rows = [UnitRows(features, folds, row_map) for row_map in self.row_maps]
        fixed = FixedScores.of(self.fixed_views, features, folds, probabilities=probabilities)
        return Candidates.of(list(zip(self.discriminants, rows, strict=True)), codes, fixed.tables)


@dataclass(frozen=True, eq=False)
class FittedRepeat:
    """A repeat and the rows that it was fitted on.

    Attributes:
        repeat: what was learned.
        candidates: of the rows.
        shrinkages: chosen amount for each view of moments.
        n_rounds: how often class sums were computed.
        predicts: whether the views predict the labels better than the sizes of the classes do.
    """

    repeat: Repeat
    candidates: CandidateBlocks
    shrinkages: list[float]
    n_rounds: int
    predicts: bool

    @cached_property
    def sums(self) -> PosteriorSums:
        """Sums over the rows of what the noise model says about them."""
        return self.repeat.model.posterior_sums(self.candidates)

    def noise_rate_range(self) -> tuple[float, float]:
        """The interval of noise rates that the labels leave possible."""
        return self.repeat.model.noise_rate_range(self.sums)

    def view_shares(self) -> Float64s:
        """The share of each view in the scores."""
        shares = self.repeat.model.scales * self.candidates.subsample(MAX_SAMPLE).spreads
        return np.asarray(shares / max(float(shares.sum()), 1e-300))


def overall_transition(fits: Sequence[FittedRepeat], k: int) -> TransitionMatrix:
    """The transition matrix of the rows with all kinds of noise, from the mean of the expected counts."""
    pairs = [fit.sums.pairs for fit in fits]
    total = sum(pairs[1:], start=pairs[0])
    return TransitionMatrix.from_counts(PairCounts(total.keys, total.counts / len(fits), total.layout), k)


def with_all_repeats(*candidates: Candidates) -> tuple[Candidates, ...]:
    """The candidates of the rows of a block by each repeat."""
    return candidates


def log_odds(candidates: Sequence[Candidates], models: Sequence[AveragedNoiseModel]) -> Float64s:
    """Log-odds that the given label is right: the scores of the rows."""
    odds = [model.log_odds(each) for model, each in zip(models, candidates, strict=True)]
    return mean_log_odds(odds, np.full(len(odds), 1.0 / len(odds)))


def suggest(
    candidates: Sequence[Candidates], rows: Ints, models: Sequence[AveragedNoiseModel]
) -> tuple[Ints, Float64s]:
    """The most likely other class of these rows, and its probability among the other classes."""
    chosen = [each.take(rows) for each in candidates]
    posterior = np.mean(
        [model.posterior(each).astype(np.float64) for model, each in zip(models, chosen, strict=True)], axis=0
    )
    posterior[chosen[0].given_entries] = 0.0
    posterior /= np.maximum(posterior.sum(axis=0), 1e-300)
    best = posterior.argmax(axis=0), np.arange(len(rows))
    return chosen[0].classes[best].astype(np.intp), posterior[best]
