"""The view of the trees: extremely randomised trees, trained on the rows of other folds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eigenclean.arrays import Array, Float64s, Floats, Ints
from eigenclean.detect.judge.views.base import FixedView, LabelledRows, ViewScores, centred

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesClassifier

TREES_PER_PAIR = 12
MAX_TREE_ROWS = 8192  # rows of one tree: the cost of the forest stays linear in the rows
_PRIOR_SHARE = 0.03  # of the class shares, so that no class has score minus infinity


@dataclass(frozen=True, eq=False)
class TreeView(FixedView):
    """Log-probabilities of forests that have not seen the row's fold.

    A forest is trained for every pair of folds, on the rows of the other folds. A row of fold f is scored by all
    forests without f; where the labels of a second fold must not count, by the forest without both.
    """

    name: ClassVar[str] = "trees"
    max_rows: ClassVar[int] = 50_000
    max_columns: ClassVar[int] = 512

    _forests: "dict[tuple[int, int], ExtraTreesClassifier]"
    _n_folds: int
    _shares: Float64s

    @classmethod
    def fit(cls, rows: LabelledRows) -> "TreeView":
        """Learn from labelled rows of positive weight."""
        from sklearn.ensemble import ExtraTreesClassifier  # slow to import, and not every detector needs it

        forests = {}
        positive = np.ones(len(rows.codes), dtype=bool) if rows.weight is None else rows.weight > 0
        for first in range(rows.n_folds):
            for second in range(first + 1, rows.n_folds):
                kept = np.flatnonzero(positive & (rows.folds != first) & (rows.folds != second))
                if not len(kept):
                    continue
                forest = ExtraTreesClassifier(
                    TREES_PER_PAIR,
                    min_samples_leaf=2,
                    bootstrap=len(kept) > MAX_TREE_ROWS,
                    max_samples=MAX_TREE_ROWS if len(kept) > MAX_TREE_ROWS else None,
                    random_state=first * rows.n_folds + second,
                )
                weight = None if rows.weight is None else rows.weight[kept]
                forests[first, second] = forest.fit(rows.features[kept], rows.codes[kept], weight)
        return cls(forests, rows.n_folds, rows.class_shares)

    def scores(self, features: Array, folds: Ints, nested: bool = False) -> ViewScores:
        """Log-scores of rows in these folds, centred."""
        shape = len(features), len(self._shares)
        table = np.zeros(shape, dtype=np.float32)
        tables = np.zeros((self._n_folds, *shape), dtype=np.float32) if nested else None
        for (first, second), forest in self._forests.items():
            for fold, other in ((first, second), (second, first)):
                index = np.flatnonzero(folds == fold)
                if len(index):
                    cells = np.ix_(index, forest.classes_)
                    probabilities = forest.predict_proba(features[index]).astype(np.float32)
                    table[cells] += probabilities / (self._n_folds - 1)
                    if tables is not None:
                        tables[other][cells] += probabilities
        if tables is None:
            return ViewScores(self._log(table))
        for fold in range(self._n_folds):  # for rows of the fold itself there is no second fold to leave out
            index = np.flatnonzero(folds == fold)
            tables[fold][index] = table[index]
        return ViewScores(self._log(table), np.stack([self._log(each) for each in tables]))

    def _log(self, probabilities: Floats) -> Floats:
        return centred(np.log((1 - _PRIOR_SHARE) * probabilities + _PRIOR_SHARE * self._shares + 1e-12))
