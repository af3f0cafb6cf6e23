"""The judge: FINE's moments, carried all the way to the probability of every label."""

from functools import partial
from typing import Any, ClassVar

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints, row_chunks
from eigenclean.detect.block_detector import BlockDetector, BlockScores
from eigenclean.detect.blocks import Blocks, block_rows, split_rows
from eigenclean.detect.cuts import Cut
from eigenclean.detect.folds import content_folds
from eigenclean.detect.judge import block_statistics as work
from eigenclean.detect.judge.candidate_blocks import Draw, Tables
from eigenclean.detect.judge.candidates import FEW, MANY, Candidates
from eigenclean.detect.judge.discriminants import Discriminants, DiscriminantSolver
from eigenclean.detect.judge.instance_noise import with_glances
from eigenclean.detect.judge.noise_model import NoisyLabels, fit_noisy_labels, likelihoods
from eigenclean.detect.judge.unit_rows import KEPT_BYTES, RowForm, UnitRows
from eigenclean.errors import InvalidOption
from eigenclean.progress import track

_SHRINKAGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9)
_TRIAL_ROWS = 4000  # enough to compare amounts of shrinkage
_SETTLED = 0.002  # rounds end when the noise rate changes by less


class Judge(BlockDetector):
    """P(label right) from class moments, out of sample, with an unknown noise.

    1. Features become directions (length 1, centred; square roots first if none is negative); sums are kept per
       class and fold, a second moment per fold.
    2. Each fold is judged by the moments of the others, total minus fold, with a shrunk linear discriminant: the
       model under which FINE's theorem holds, with all its directions instead of one.
    3. The discriminants and a model of the noise are calibrated together on the given labels (EM): a transition
       matrix for errors that are anywhere, and glances for errors among samples that look alike.
    4. The posterior P(y | x, given label) is the answer: P(right), the suggestion, the transition matrix. Samples
       whose label is probably wrong are shared out by it, and the class moments are taken again, until the noise
       rate stays: wrong labels no longer bend the means.

    Args:
        n_folds: a row is judged by the other folds; which fold it is in depends on its content alone.
        rounds: how often the moments are taken at most, the first time with the given labels.
        threshold: labels are kept when P(right) is strictly above it.
        cut: "posterior"; the score is the log-odds of being right already.

    Attributes:
        classes_: sorted labels.
        transition_: K x K, P(given label | right label).
        shrinkage_: the amount of shrinkage that explains the given labels best, out of sample.
        glances_: share of the labels that were given at a glance.
        n_rounds_: how often the moments were taken.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[:100] = (wrong[:100] + 1) % 10
        >>> verdict = Judge().judge(X, wrong)
        >>> bool(verdict.flagged[:100].mean() > 0.8), bool(verdict.flagged[100:].mean() < 0.05)
        (True, True)
    """

    name: ClassVar[str] = "judge"
    _discriminants: Discriminants
    shrinkage_: float
    glances_: float
    n_rounds_: int

    def __init__(
        self, *, n_folds: int = 5, rounds: int = 40, cut: str | Cut = "posterior", threshold: float = 0.5
    ) -> None:
        self.n_folds = n_folds
        self.rounds = rounds
        self.cut = cut
        self.threshold = threshold

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        if self.n_folds < 2:
            raise InvalidOption(f"Judge: n_folds must be at least 2, got {self.n_folds}")
        if self.rounds < 1:
            raise InvalidOption(f"Judge: rounds must be at least 1, got {self.rounds}")

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        rows = block_rows(X)
        weights = None if weight is None else split_rows(weight, rows)
        return np.concatenate(
            list(self._learn_blocks(split_rows(X, rows), split_rows(codes, rows), weights).scores)
        )

    def _learn_blocks(
        self, features: Blocks[Array], codes: Blocks[Ints], weights: Blocks[Float64s] | None = None
    ) -> BlockScores:
        k, n_folds, n_blocks = len(self.classes_), self.n_folds, len(features)
        seen = features.map(work.seen).persist()
        looks = list(seen.map(work.look))
        lots = seen.map(work.lots)
        self._form = RowForm.of_blocks(features, looks)
        n, d = sum(look.n for look in looks), len(self._form.centre)
        units = features.map(work.directions, lots, args=(self._form, n_folds))
        if n * d * looks[0].itemsize <= KEPT_BYTES:
            units = units.persist()
        weight = features.from_items([None] * n_blocks) if weights is None else weights
        seconds, masses, sums = units.total(
            work.add_moments, codes, weight, initial=partial(work.no_moments, n_folds, k, d)
        )
        solver = DiscriminantSolver(seconds, masses)
        rounds = _Rounds(units, codes, solver, Draw.of(lots, n), self._trial_folds(n), n, k)
        model: NoisyLabels | None = None
        noise = np.inf
        for number in track(range(1, self.rounds + 1), "judging"):
            if model is not None:
                del sums, self._discriminants  # there may be no room for two of them
                start = partial(work.no_sums, n_folds, k, d)
                sums = units.total(work.add_moved, rounds.tables.blocks, weight, args=(model,), initial=start)
            self.shrinkage_, self._discriminants = rounds.judge(sums, model)
            tables = rounds.tables
            model = fit_noisy_labels(tables) if model is None else model.converged(tables)
            self.n_rounds_ = number
            before, noise = noise, 1.0 - tables.total(work.p_right, args=(model,)) / n
            if abs(noise - before) < _SETTLED:
                break
        assert model is not None
        self._model = with_glances(model, tables)
        self._noise, self.glances_ = self._model.overall(tables), self._model.glances
        given = (self._model,)
        return BlockScores(
            tables.blocks.map(work.log_odds, args=given),
            lambda rows, cut: tables.blocks.map(work.suggested, rows, args=given),
        )

    def _trial_folds(self, n: int) -> list[int]:
        """As few folds as it takes to compare amounts of shrinkage."""
        return list(range(min(self.n_folds, -(-_TRIAL_ROWS * self.n_folds // n))))

    def _candidates(self, X: Array, codes: Ints) -> Candidates:
        rows = UnitRows.of(X, content_folds(X, self.n_folds), self._form)
        return Candidates.of(self._discriminants, rows, codes)

    def _score(self, X: Array, codes: Ints) -> Float64s:
        scores = np.empty(len(X))
        for part in row_chunks(len(X), 1, block_rows(X)):
            scores[part] = self._model.log_odds(self._candidates(X[part], codes[part]))
        return scores

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        for part in row_chunks(len(rows), 1, block_rows(X)):
            found = self._candidates(X[rows[part]], codes[rows[part]])
            best[part], share[part] = work.suggested(found, np.arange(len(found)), self._model)
        return best, share

    @property
    def transition_(self) -> Float64s:
        """K x K, P(given label | right label)."""
        return self._noise.matrix()

    def _made_by(self, cut: Cut) -> dict[str, Any]:
        record = super()._made_by(cut)
        record["glances"], record["rounds"] = float(self.glances_), self.n_rounds_
        if len(self.classes_) <= 100:
            record["transition"] = np.round(self.transition_, 4).tolist()
        return record


class _Rounds:
    """One round of the judge after the other: the best amount of shrinkage, and the candidates that it gives."""

    tables: Tables

    def __init__(
        self,
        units: Blocks[UnitRows],
        codes: Blocks[Ints],
        solver: DiscriminantSolver,
        draw: Draw,
        trial: list[int],
        n: int,
        k: int,
    ) -> None:
        self._units, self._codes, self._solver, self._draw = units, codes, solver, draw
        self._trial, self._n, self._k = trial, n, k
        self._shrinkage: float | None = None

    def judge(self, sums: work.Sums, model: NoisyLabels | None) -> tuple[float, Discriminants]:
        """The shrinkage that explains the given labels best, and its discriminants; sets ``tables``."""
        if hasattr(self, "tables"):
            del self.tables  # there may be no room for two of them
        expected = self._shrinkage
        amounts = [amount for amount in _near(expected) if amount != expected]
        reached: dict[float, float] = {}
        tables: Tables | None = None
        chosen: Discriminants | None = None
        while amounts or (tables is None and expected is not None):
            group, amounts = amounts[: self._at_once], amounts[self._at_once :]
            others = [self._solver.solve(amount, *sums, self._trial) for amount in group]
            if tables is None and expected is not None:  # most likely it is the same as before: save a reading
                chosen = self._solver.solve(expected, *sums)
                group = [*group, expected]
                tried = self._tried(chosen, others)
                tables = self._tables(tried.map(work.every).persist())
            else:
                tried = self._tried(None, others)
            found = likelihoods(tried.map(work.tried), model, self._k, 8, settle=2)
            reached.update(zip(group, found, strict=True))
            del tried
        best = max(_near(expected), key=lambda amount: reached[amount])
        if best != expected or tables is None or chosen is None:
            del tables
            chosen = self._solver.solve(best, *sums)
            given = (chosen, len(self._units) > 1)
            tables = self._tables(self._units.map(work.candidates, self._codes, args=given).persist())
        self._shrinkage, self.tables = best, tables
        self._solver.forget(but=_near(best))
        return best, chosen

    def _tried(self, expected: Discriminants | None, others: list[Discriminants]) -> Blocks[Any]:
        given = (self._trial, expected, others, len(self._units) > 1)
        return self._units.map(work.trials, self._codes, args=given).persist()

    @property
    def _at_once(self) -> int:
        """How many trials fit into half a gigabyte."""
        of_row = (4 * self._k if self._k <= MANY else 6 * FEW) * len(self._trial) / self._solver.n_folds
        return max(1, int((1 << 29) / (of_row * self._n)))

    def _tables(self, blocks: Blocks[Candidates]) -> Tables:
        return Tables(blocks, self._draw, self._n, self._k)


def _near(shrinkage: float | None) -> tuple[float, ...]:
    """Amounts of shrinkage to try after this one, it and its neighbours; all before the first."""
    if shrinkage is None:
        return _SHRINKAGES
    at = _SHRINKAGES.index(shrinkage)
    return _SHRINKAGES[max(0, at - 1) : at + 2]
