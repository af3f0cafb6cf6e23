"""The view of probabilities: what a model of the user says, out of sample."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from eigenclean.arrays import Array, Floats, Ints
from eigenclean.detect.judge.views.base import FixedView, LabelledRows, ViewScores, centred
from eigenclean.detect.judge.views.calibration import ClassCalibration
from eigenclean.errors import InvalidData
from eigenclean.evidence import EvidenceKind

_FLOOR = 1e-6  # probabilities below it are rounded zeros
_MAX_DEVIATION = 0.01  # of a sum of rounded probabilities from 1


class Agreement(NamedTuple):
    """How often the most probable class is the given one.

    Attributes:
        n: number of rows.
        disagreeing: number of rows with another most probable class.
        expected: how many there would be if the probabilities were calibrated.
    """

    n: int
    disagreeing: int
    expected: float

    @classmethod
    def of(cls, probabilities: Array, codes: Ints) -> "Agreement":
        """Compare probabilities of the classes with the given ones."""
        highest = probabilities.max(axis=1)
        disagreeing = int(np.count_nonzero(probabilities[np.arange(len(codes)), codes] < highest))
        return cls(len(codes), disagreeing, float((1.0 - highest).sum(dtype=np.float64)))


@dataclass(frozen=True, eq=False)
class ProbabilityView(FixedView):
    """Log-probabilities, calibrated class by class; the rows of this view are the probabilities themselves, n x K.

    Attributes:
        agreement: of the probabilities with the given labels of `fit`; None without a fit.
        calibration: of the classes; None without a fit.
    """

    name: ClassVar[str] = "probabilities"
    max_rows: ClassVar[int] = 1 << 62
    max_columns: ClassVar[int] = 1 << 30
    consumes: ClassVar[EvidenceKind] = "probabilities"

    agreement: Agreement | None = None
    calibration: ClassCalibration | None = None

    @classmethod
    def fit(cls, rows: LabelledRows) -> "ProbabilityView":
        """Nothing but the calibration is learned: the user's model has learned."""
        probabilities = rows.features if rows.probabilities is None else rows.probabilities
        calibration = ClassCalibration.fit(
            _log_scores(probabilities), rows.codes, rows.folds, rows.n_folds, rows.weight
        )
        return cls(Agreement.of(probabilities, rows.codes), calibration)

    def scores(self, features: Array, folds: Ints, nested: bool = False) -> ViewScores:
        """Log-scores, centred; nested tables are all the same, as the folds of the user's model are not known."""
        table = _log_scores(features)
        if self.calibration is None:
            return ViewScores(table)
        table = self.calibration.apply(table, folds)
        n_folds = len(self.calibration.scales)
        return ViewScores(table, np.broadcast_to(table, (n_folds, *table.shape)) if nested else None)


def _log_scores(probabilities: Array) -> Floats:
    return centred(np.log(np.maximum(probabilities, _FLOOR)))


def check_probabilities(rows: Array, n_classes: int) -> None:
    """Raise `InvalidData` unless the rows are probabilities of all classes."""
    if rows.shape[1] != n_classes:
        raise InvalidData(
            f"Judge: probabilities need one column per class, got {rows.shape[1]} columns for {n_classes} classes"
        )
    if (rows < 0).any() or (np.abs(rows.sum(axis=1) - 1.0) > _MAX_DEVIATION).any():
        raise InvalidData("Judge: probabilities must be at least 0, and the sum of each row must be 1")


def split_columns(rows: Array, n_classes: int, exponent: int) -> tuple[Array, Array]:
    """Features, and the probabilities in the last columns, from rows that were multiplied by ``2**-exponent``."""
    if rows.shape[1] <= n_classes:
        raise InvalidData(
            f"Judge: probabilities beside features need a column for each of the {n_classes} classes after those "
            f"of the features, got {rows.shape[1]} columns in all"
        )
    probabilities = np.ldexp(rows[:, -n_classes:], exponent)
    check_probabilities(probabilities, n_classes)
    return np.ascontiguousarray(rows[:, :-n_classes]), probabilities
