"""Rounds of the judge: discriminants, noise model, corrected labels, and again while unused labels gain by it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from eigenclean.arrays import Float64s, Ints
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.judge.block_statistics import (
    ClassSums,
    Moments,
    add_corrections,
    find_candidates,
    sum_p_right,
    zero_corrections,
)
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks, RowSample
from eigenclean.detect.judge.candidates import MAX_DENSE_CLASSES, Candidates
from eigenclean.detect.judge.discriminants import Discriminants, DiscriminantSolver
from eigenclean.detect.judge.em import fit_noise_model, refine, trial_log_likelihood
from eigenclean.detect.judge.noise_model import NoiseModel
from eigenclean.detect.judge.unit_rows import UnitRows
from eigenclean.detect.judge.views.base import FixedScores
from eigenclean.detect.judge.views.selection import trial_folds
from eigenclean.progress import track

SHRINKAGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9)
NOISE_RATE_TOLERANCE = 0.002  # rounds end when the noise rate changes by less
MIN_GAIN = 1e-4  # of the mean log-likelihood, by which a round must be better than the one before


@dataclass(frozen=True, eq=False)
class FittedRound:
    """The result of one round: class sums, discriminants and the noise model.

    Attributes:
        sums: class sums of each view of moments.
        shrinkages: chosen amount for each view of moments.
        discriminants: of each view of moments.
        candidates: of all rows.
        model: the noise model, whose log-likelihood is out of sample.
        noise_rate: expected share of wrong labels.
    """

    sums: Sequence[ClassSums]
    shrinkages: list[float]
    discriminants: list[Discriminants]
    candidates: CandidateBlocks
    model: NoiseModel
    noise_rate: float


class RoundFitter:
    """Fits rounds on rows in blocks.

    Args:
        rows: prepared for each view of moments.
        codes: given classes.
        fixed: scores of the fixed views.
        weights: weight of each row, or None in each block.
        moments: of each view of moments.
        solvers: for each view of moments.
        sample_rows: prepared rows of the sample, for each view of moments.
        sample_codes: given classes of the sample.
        sample: which rows subsamples take.
        n: number of rows.
        k: number of classes.
        known: right classes that people have verified; None if there are none.
    """

    def __init__(
        self,
        rows: Blocks[tuple[UnitRows, ...]],
        codes: Blocks[Ints],
        fixed: Blocks[FixedScores],
        weights: Blocks[Float64s | None],
        moments: Sequence[Moments],
        solvers: Sequence[DiscriminantSolver],
        sample_rows: Sequence[UnitRows],
        sample_codes: Ints,
        sample: RowSample,
        n: int,
        k: int,
        known: Blocks[Ints] | None = None,
    ) -> None:
        self._known = known
        self._rows, self._codes, self._fixed, self._weights = rows, codes, fixed, weights
        self._moments, self._solvers = moments, solvers
        self._sample_rows, self._sample_codes, self._sample = sample_rows, sample_codes, sample
        self._n, self._k = n, k

    def fit(self, max_rounds: int) -> tuple[FittedRound, int]:
        """The best round by the likelihood of labels that it has not used, and the number of rounds."""
        best = self._fit_round([(each.sums, each.counts) for each in self._moments], None)
        # With very many classes sums for each fold would not fit, and classes are too small to gain by corrections.
        if not self._moments or self._k > MAX_DENSE_CLASSES:
            return best, 1
        for n_rounds in track(range(2, max_rounds + 1), "judging"):
            following = self._fit_round(self._corrected_sums(best), best)
            gain = following.model.log_likelihood - best.model.log_likelihood
            change = abs(following.noise_rate - best.noise_rate)
            if gain >= MIN_GAIN:
                best = following
            if gain < MIN_GAIN or change < NOISE_RATE_TOLERANCE:
                return best, n_rounds
        return best, max_rounds

    def _fit_round(self, sums: Sequence[ClassSums], previous: FittedRound | None) -> FittedRound:
        shrinkages = [self._choose_shrinkage(view, view_sums, previous) for view, view_sums in enumerate(sums)]
        discriminants = [
            solver.solve(amount, *view_sums)
            for solver, amount, view_sums in zip(self._solvers, shrinkages, sums, strict=True)
        ]
        args = (discriminants, len(self._codes) > 1)
        blocks = self._rows.map(find_candidates, self._codes, self._fixed, args=args)
        blocks = (blocks if self._known is None else blocks.map(Candidates.knowing, self._known)).persist()
        candidates = CandidateBlocks(blocks, self._n, self._k, self._sample)
        model = fit_noise_model(candidates) if previous is None else refine(previous.model, candidates)
        noise_rate = 1.0 - candidates.total(sum_p_right, args=(model,)) / self._n
        return FittedRound(sums, shrinkages, discriminants, candidates, model, noise_rate)

    def _choose_shrinkage(self, view: int, sums: ClassSums, previous: FittedRound | None) -> float:
        """The amount under which the given labels of the sample are most likely, out of sample."""
        solver, rows, codes = self._solvers[view], self._sample_rows[view], self._sample_codes
        folds = trial_folds(len(rows), rows.n_columns, solver.n_folds)
        if len(folds) < solver.n_folds:
            index = np.flatnonzero(np.isin(rows.folds, folds))
            rows, codes = rows.take(index), codes[index]
        amounts = SHRINKAGES if previous is None else neighbours(previous.shrinkages[view])
        rate = None if previous is None else max(previous.noise_rate, 0.001)

        def log_likelihood(amount: float) -> float:
            candidates = Candidates.of([(solver.solve(amount, *sums, folds), rows)], codes)
            return trial_log_likelihood(candidates, rate)

        best = max(amounts, key=log_likelihood)
        solver.forget_except(neighbours(best))
        return best

    def _corrected_sums(self, last: FittedRound) -> list[ClassSums]:
        """Class sums with corrected labels, for each fold that they are to judge."""
        n_folds = self._solvers[0].n_folds
        nested = [
            [solver.solve_nested(amount, *_sums_for(sums, outer), outer) for outer in range(n_folds)]
            for solver, amount, sums in zip(self._solvers, last.shrinkages, last.sums, strict=True)
        ]
        changes = self._rows.total(
            add_corrections,
            last.candidates.blocks,
            self._fixed,
            self._weights,
            args=(nested, last.model),
            initial=partial(zero_corrections, n_folds, self._k, [each.sums.shape[2] for each in self._moments]),
        )
        return [
            (moments.sums + sums, np.maximum(moments.counts + counts, 0.0))
            for moments, (sums, counts) in zip(self._moments, changes, strict=True)
        ]


def _sums_for(sums: ClassSums, fold: int) -> ClassSums:
    """The sums that judge this fold; those of the given labels are the same for all folds."""
    return sums if sums[0].ndim == 3 else (sums[0][fold], sums[1][fold])


def neighbours(shrinkage: float) -> tuple[float, ...]:
    """The amount and its neighbours among the `SHRINKAGES`.

    >>> neighbours(0.1), neighbours(0.9)
    ((0.03, 0.1, 0.3), (0.3, 0.9))
    """
    index = SHRINKAGES.index(shrinkage)
    return SHRINKAGES[max(0, index - 1) : index + 2]
