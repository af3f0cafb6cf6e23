"""How much the covariance is shrunk: the amount under which the given labels are most likely, out of sample."""

from operator import attrgetter
from typing import NamedTuple

from eigenclean.arrays import Ints
from eigenclean.detect.blocks import Blocks
from eigenclean.detect.judge.block_statistics import (
    ClassSums,
    TrialCandidates,
    find_candidates,
    try_discriminants,
)
from eigenclean.detect.judge.candidate_blocks import CandidateBlocks, RowSample
from eigenclean.detect.judge.candidates import MAX_DENSE_CLASSES, N_CANDIDATES, Candidates
from eigenclean.detect.judge.discriminants import Discriminants, DiscriminantSolver
from eigenclean.detect.judge.em import trial_log_likelihoods
from eigenclean.detect.judge.noise_model import NoiseModel
from eigenclean.detect.judge.unit_rows import UnitRows

SHRINKAGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9)
TRIAL_ROWS = 4000  # enough to compare amounts of shrinkage
_TRIAL_BYTES = 1 << 29  # candidates of trials that are held at a time


class ShrunkFit(NamedTuple):
    """The chosen amount of shrinkage, its discriminants, and the candidates of all rows by them."""

    shrinkage: float
    discriminants: Discriminants
    candidates: CandidateBlocks


class ShrinkageSearch:
    """Chooses the amount of shrinkage in every round of the judge, and computes candidates with it.

    The first round tries all `SHRINKAGES`, later rounds the amount of the round before and its two neighbours.
    Amounts are compared on as few folds as hold `TRIAL_ROWS` rows. Later rounds mostly choose the same amount as
    the round before, so the candidates of all rows by this amount are computed in the pass of the first trials.
    """

    def __init__(
        self,
        rows: Blocks[UnitRows],
        codes: Blocks[Ints],
        solver: DiscriminantSolver,
        sample: RowSample,
        n: int,
        k: int,
    ) -> None:
        self._rows, self._codes, self._solver, self._sample = rows, codes, solver, sample
        self._n, self._k, self._is_partial = n, k, len(rows) > 1
        self._trial_folds = list(range(min(solver.n_folds, -(-TRIAL_ROWS * solver.n_folds // n))))
        self._previous: float | None = None

    def fit(self, sums: ClassSums, model: NoiseModel | None) -> ShrunkFit:
        """Choose the amount for these class sums; ``model`` is the noise model of the round before, if any."""
        previous = self._previous
        log_likelihoods: dict[float, float] = {}
        discriminants = None if previous is None else self._solver.solve(previous, *sums)
        full: Blocks[Candidates] | None = None
        for group in self._groups():
            trial_discriminants = [self._solver.solve(amount, *sums, self._trial_folds) for amount in group]
            if previous is not None and full is None:
                trials = self._run_trials(trial_discriminants, discriminants)
                full = trials.map(attrgetter("full")).persist()
                group = [*group, previous]
            else:
                trials = self._run_trials(trial_discriminants, None)
            reached = trial_log_likelihoods(trials.map(attrgetter("trials")), model, self._k)
            log_likelihoods.update(zip(group, reached, strict=True))
            del trials
        best = max(neighbours(previous), key=log_likelihoods.__getitem__)
        if best != previous or discriminants is None or full is None:
            del full, discriminants  # there may be no room for two
            discriminants = self._solver.solve(best, *sums)
            args = (discriminants, self._is_partial)
            full = self._rows.map(find_candidates, self._codes, args=args).persist()
        self._previous = best
        self._solver.forget_except(neighbours(best))
        return ShrunkFit(best, discriminants, CandidateBlocks(full, self._n, self._k, self._sample))

    def _groups(self) -> list[list[float]]:
        """The amounts to try besides the previous one, as many at a time as fit into memory."""
        amounts = [amount for amount in neighbours(self._previous) if amount != self._previous]
        row_bytes = 4 * self._k if self._k <= MAX_DENSE_CLASSES else 6 * N_CANDIDATES
        trial_bytes = row_bytes * len(self._trial_folds) / self._solver.n_folds * self._n
        size = max(1, int(_TRIAL_BYTES / trial_bytes))
        return [amounts[start : start + size] for start in range(0, len(amounts), size)]

    def _run_trials(self, trials: list[Discriminants], full: Discriminants | None) -> Blocks[TrialCandidates]:
        args = (self._trial_folds, trials, full, self._is_partial)
        return self._rows.map(try_discriminants, self._codes, args=args).persist()


def neighbours(shrinkage: float | None) -> tuple[float, ...]:
    """The amount and its neighbours among the `SHRINKAGES`; all of them for None.

    >>> neighbours(0.1), neighbours(0.9)
    ((0.03, 0.1, 0.3), (0.3, 0.9))
    """
    if shrinkage is None:
        return SHRINKAGES
    index = SHRINKAGES.index(shrinkage)
    return SHRINKAGES[max(0, index - 1) : index + 2]
