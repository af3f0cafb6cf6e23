"""The judge: FINE's moments, carried all the way to the probability of every label."""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from eigenclean.arrays import Array, Float64s, Floats, Ints
from eigenclean.detect.base import Detector
from eigenclean.detect.candidates import MANY, Candidates
from eigenclean.detect.cuts import Cut
from eigenclean.detect.discriminants import Discriminants, DiscriminantSolver
from eigenclean.detect.folds import content_folds, content_hash, folds_by
from eigenclean.detect.glances import with_glances
from eigenclean.detect.noisy_labels import NoisyLabels, fit_noisy_labels
from eigenclean.detect.unit_rows import UnitRows
from eigenclean.errors import InvalidOption
from eigenclean.progress import track

_SHRINKAGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9)
_TRIAL_ROWS = 4000  # enough to compare amounts of shrinkage
_SETTLED = 0.002  # rounds end when the noise rate changes by less


class Judge(Detector):
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
    _width: int
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
        lots = content_hash(X)
        rows = UnitRows.of(X, folds_by(lots, self.n_folds))
        self._form, self._width = rows.form, int(X.shape[1])
        masses = np.bincount(rows.folds, weight, self.n_folds).astype(np.float64)
        solver = DiscriminantSolver(rows.second_moments(weight, self.n_folds), masses)
        members = _given(codes, len(self.classes_))
        trial = self._trial_folds(len(X))
        inside = np.isin(rows.folds, trial)
        trial_rows, trial_codes = rows.only(trial), codes[inside]
        model: NoisyLabels | None = None
        noise = np.inf
        for number in track(range(1, self.rounds + 1), "judging"):
            sums = rows.class_sums(members if weight is None else _weighted(members, weight), self.n_folds)
            likelihoods = {
                shrinkage: _likelihood(solver.solve(shrinkage, *sums, trial), trial_rows, trial_codes, model)
                for shrinkage in (_SHRINKAGES if model is None else _near(self.shrinkage_))
            }
            self.shrinkage_ = max(likelihoods, key=lambda shrinkage: likelihoods[shrinkage])
            self._discriminants = solver.solve(self.shrinkage_, *sums)
            candidates = Candidates.of(self._discriminants, rows, codes, lots)
            model = fit_noisy_labels(candidates) if model is None else model.converged(candidates)
            posterior = model.posterior(candidates)
            members = candidates.members(_moved(posterior, candidates))
            self.n_rounds_ = number
            before, noise = noise, 1.0 - float(posterior[candidates.everyone].mean())
            if abs(noise - before) < _SETTLED:
                break
        assert model is not None
        self._model = with_glances(model, candidates)
        self._noise, self.glances_ = self._model.overall(candidates), self._model.glances
        return self._model.log_odds(candidates)

    def _trial_folds(self, n: int) -> list[int]:
        """As few folds as it takes to compare amounts of shrinkage."""
        return list(range(min(self.n_folds, -(-_TRIAL_ROWS * self.n_folds // n))))

    def _candidates(self, X: Array, codes: Ints) -> Candidates:
        rows = UnitRows.of(X, content_folds(X, self.n_folds), self._form)
        return Candidates.of(self._discriminants, rows, codes)

    def _score(self, X: Array, codes: Ints) -> Float64s:
        return self._model.log_odds(self._candidates(X, codes))

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        candidates = self._candidates(X[rows], codes[rows])
        posterior = self._model.posterior(candidates).astype(np.float64)
        posterior[candidates.everyone] = 0.0
        posterior /= np.maximum(posterior.sum(axis=0), 1e-300)
        best = posterior.argmax(axis=0), np.arange(len(rows))
        return candidates.classes[best], posterior[best]

    @property
    def _n_columns(self) -> int:
        return self._width

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


def _moved(posterior: Floats, candidates: Candidates) -> Floats:
    """Memberships for the next round: a label that is probably right keeps its sample whole, others are shared out.

    Were all shared out, every round would draw overlapping classes further apart, and find more wrong labels.
    """
    right = np.flatnonzero(posterior[candidates.everyone] > 0.5)
    moved = posterior.copy()
    moved[:, right] = 0.0
    moved[candidates.own[right], right] = 1.0
    return moved


def _near(shrinkage: float) -> tuple[float, ...]:
    """Amounts of shrinkage to try after this one: it and its neighbours."""
    at = _SHRINKAGES.index(shrinkage)
    return _SHRINKAGES[max(0, at - 1) : at + 2]


def _likelihood(discriminants: Discriminants, rows: UnitRows, codes: Ints, model: NoisyLabels | None) -> float:
    """How likely these discriminants make the given labels, out of sample."""
    candidates = Candidates.of(discriminants, rows, codes)
    start = NoisyLabels.symmetric(candidates, 0.001) if model is None else model
    return start.improved(candidates, 8, settle=2).log_likelihood


def _given(codes: Ints, k: int) -> Floats | csr_array:
    """The given labels as memberships, n x K, sparse when there are very many classes."""
    n = len(codes)
    sparse = csr_array((np.ones(n, dtype=np.float32), codes, np.arange(n + 1)), shape=(n, k))
    return sparse if k > MANY else sparse.toarray()


def _weighted(members: Floats | csr_array, weight: Float64s) -> Floats | csr_array:
    column = weight.astype(np.float32)[:, None]
    return members * column if isinstance(members, np.ndarray) else members.multiply(column).tocsr()
