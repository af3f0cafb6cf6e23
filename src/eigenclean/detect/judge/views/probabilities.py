"""The view of probabilities: what a model of the user says, out of sample."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.detect.judge.views.base import FixedView, LabelledRows, ViewScores, centred
from eigenclean.errors import InvalidData

_FLOOR = 1e-6  # probabilities below it are rounded zeros
_MAX_DEVIATION = 0.01  # of a sum of rounded probabilities from 1


@dataclass(frozen=True, eq=False)
class Probabilities(FixedView):
    """Log-probabilities; the features of this view are the probabilities themselves, n x K."""

    name: ClassVar[str] = "probabilities"
    max_rows: ClassVar[int] = 1 << 62
    max_columns: ClassVar[int] = 1 << 30

    @classmethod
    def fit(cls, rows: LabelledRows) -> "Probabilities":
        """Nothing to learn: the user's model has learned."""
        return cls()

    def scores(self, features: Array, folds: Ints, nested: bool = False) -> ViewScores:
        """Log-scores, centred: labels do not enter here, so all tables are the same."""
        return ViewScores(centred(np.log(np.maximum(features, _FLOOR))))


def check_probabilities(rows: Array, n_classes: int) -> None:
    """Raise `InvalidData` unless the rows are probabilities of all classes."""
    if rows.shape[1] != n_classes:
        raise InvalidData(
            f"Judge: probabilities need one column per class, got {rows.shape[1]} columns for {n_classes} classes"
        )
    if (rows < 0).any() or (np.abs(rows.sum(axis=1) - 1.0) > _MAX_DEVIATION).any():
        raise InvalidData("Judge: probabilities must be at least 0, and the sum of each row must be 1")
