"""The judge: FINE's moments, carried all the way to the probability of every label."""

from typing import Any, ClassVar

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints
from eigenclean.detect.base import Detector
from eigenclean.detect.cuts import Cut
from eigenclean.detect.discriminants import Discriminants, DiscriminantSolver, UnitRows
from eigenclean.detect.folds import content_folds
from eigenclean.detect.noisy_labels import NoisyLabels, fit_noisy_labels
from eigenclean.errors import InvalidOption
from eigenclean.progress import track

_SHRINKAGES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.9)


class Judge(Detector):
    """P(label right) from class moments, out of sample, with an unknown transition matrix.

    1. Features become directions (length 1, centred); sums are kept per class and fold, a second moment per fold.
    2. Each fold is judged by the moments of the others, total minus fold, with a shrunk linear discriminant: the
       model under which FINE's theorem holds, with all its directions instead of one.
    3. The discriminants and a transition matrix T are calibrated together on the given labels (EM).
    4. The posterior P(y | x, given label) is the answer: P(right), the suggestion, T and the noise rates. It also
       gives soft memberships, from which the class moments are taken again: wrong labels no longer bend the means.

    Args:
        n_folds: a row is judged by the other folds; which fold it is in depends on its content alone.
        rounds: how often the moments are taken, the first time with the given labels.
        threshold: labels are kept when P(right) is strictly above it.
        cut: "posterior"; the score is the log-odds of being right already.

    Attributes:
        classes_: sorted labels.
        transition_: K x K, P(given label | right label).
        shrinkage_: the amount of shrinkage that explains the given labels best, out of sample.

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
    transition_: Float64s
    shrinkage_: float

    def __init__(
        self, *, n_folds: int = 5, rounds: int = 5, cut: str | Cut = "posterior", threshold: float = 0.5
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
        k = len(self.classes_)
        rows = UnitRows.of(X, content_folds(X, self.n_folds))
        self._centre = rows.centre
        seconds = rows.second_moments(weight, self.n_folds)
        members = np.zeros((len(X), k), dtype=np.float32)
        members[np.arange(len(X)), codes] = 1.0
        model: NoisyLabels | None = None
        at = 0
        for number in track(range(self.rounds), "judging"):
            if weight is not None:
                members *= weight.astype(np.float32)[:, None]
            solver = DiscriminantSolver(seconds, *rows.class_sums(members, self.n_folds))
            near = range(len(_SHRINKAGES)) if number == 0 else range(max(0, at - 1), min(len(_SHRINKAGES), at + 2))
            at, self._discriminants, values, model = self._best_shrinkage(rows, codes, solver, near, model)
            model = fit_noisy_labels(values, codes) if number == 0 else model.improved(values, codes, 60)
            members = model.posterior(values, codes).astype(np.float32)
        assert model is not None
        self._model, self.transition_, self.shrinkage_ = model, model.transition, _SHRINKAGES[at]
        return model.log_odds(values, codes)

    def _best_shrinkage(
        self, rows: UnitRows, codes: Ints, solver: DiscriminantSolver, near: range, model: NoisyLabels | None
    ) -> tuple[int, Discriminants, Float64s, NoisyLabels]:
        """The shrinkage under which the given labels are most likely, out of sample."""
        best: tuple[int, Discriminants, Float64s, NoisyLabels] | None = None
        for at in near:
            discriminants = solver.solve(_SHRINKAGES[at])
            values = discriminants.of(rows)
            start = NoisyLabels.symmetric(values, 0.001) if model is None else model
            tried = start.improved(values, codes, 8)
            if best is None or tried.log_likelihood > best[3].log_likelihood:
                best = at, discriminants, values, tried
        assert best is not None
        return best

    def _values(self, X: Array) -> Float64s:
        return self._discriminants.of(UnitRows.of(X, content_folds(X, self.n_folds), self._centre))

    def _score(self, X: Array, codes: Ints) -> Float64s:
        return self._model.log_odds(self._values(X), codes)

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        posterior = self._model.posterior(self._values(X[rows]), codes[rows])
        posterior[np.arange(len(rows)), codes[rows]] = 0.0
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
        return np.argmax(posterior, axis=1), posterior.max(axis=1)

    @property
    def _n_columns(self) -> int:
        return len(self._centre)

    def _made_by(self, cut: Cut) -> dict[str, Any]:
        record = super()._made_by(cut)
        if len(self.classes_) <= 100:
            record["transition"] = np.round(self.transition_, 4).tolist()
        return record
