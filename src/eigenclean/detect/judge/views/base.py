"""What a fixed view is: log-scores of all classes from the labels of other folds, computed once."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np

from eigenclean.arrays import Array, Float64s, Floats, Ints
from eigenclean.detect.judge.unit_rows import RowMap
from eigenclean.evidence import EvidenceKind


@dataclass(frozen=True, eq=False)
class FoldedRows:
    """Labelled rows in memory, each in a fold.

    Attributes:
        features: n x d.
        codes: the given classes, 0..K-1.
        folds: the fold of each row.
        weight: how much each row counts; None for equally.
        n_classes: K.
        n_folds: number of folds.
    """

    features: Array
    codes: Ints
    folds: Ints
    weight: Float64s | None
    n_classes: int
    n_folds: int


@dataclass(frozen=True, eq=False)
class LabelledRows(FoldedRows):
    """Rows to learn a view from.

    Attributes:
        row_map: how rows are prepared for distances.
        probabilities: n x K, predicted by the user's model; None if there are none beside the features.
    """

    row_map: RowMap
    probabilities: Array | None = None

    @property
    def class_shares(self) -> Float64s:
        """Share of the rows of each class."""
        counts = np.bincount(self.codes, self.weight, self.n_classes)
        return np.asarray(counts / max(counts.sum(), 1e-300))


class ViewScores(NamedTuple):
    """Out-of-sample log-scores of some rows.

    Attributes:
        table: n x K, from the labels of other folds than the row's own.
        nested: folds x n x K, where table f does not depend on the labels of fold f either: labels that are
            corrected by it leak nothing into fold f. None if it was not asked for.
    """

    table: Floats
    nested: Floats | None = None


class FixedView(ABC):
    """A view that is computed once, from the given labels."""

    name: ClassVar[str]
    max_rows: ClassVar[int]  # with more rows or columns it is left out unless it is asked for
    max_columns: ClassVar[int]
    consumes: ClassVar[EvidenceKind] = "features"

    @classmethod
    @abstractmethod
    def fit(cls, rows: LabelledRows) -> Self:
        """Learn what each class looks like from labelled rows, separately without each fold."""

    @abstractmethod
    def scores(self, features: Array, folds: Ints, nested: bool = False) -> ViewScores:
        """Log-scores of rows in these folds, centred; nested ones only if they are needed."""


class FixedScores(NamedTuple):
    """Scores of the rows of a block by all fixed views.

    Attributes:
        tables: for each view n x K.
        nested: for each view folds x n x K, see `ViewScores`.
    """

    tables: tuple[Floats, ...] = ()
    nested: tuple[Floats, ...] = ()

    @classmethod
    def of(
        cls,
        views: Sequence[FixedView],
        features: Array,
        folds: Ints,
        nested: bool = False,
        probabilities: Array | None = None,
    ) -> "FixedScores":
        """Scores of these rows; ``probabilities`` are there if they are beside the features."""
        predicted = features if probabilities is None else probabilities
        scores = [
            view.scores(predicted if view.consumes == "probabilities" else features, folds, nested)
            for view in views
        ]
        return cls(
            tuple(each.table for each in scores), tuple(each.nested for each in scores if each.nested is not None)
        )

    def take(self, rows: slice | Ints) -> "FixedScores":
        """The scores of these rows."""
        return FixedScores(
            tuple(table[rows] for table in self.tables), tuple(table[:, rows] for table in self.nested)
        )


def centred(log_scores: Floats) -> Floats:
    """The same without the mean of each row, in float32."""
    table = log_scores.astype(np.float32)
    table -= table.mean(axis=1, keepdims=True)
    return table
