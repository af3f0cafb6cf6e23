"""The view of the nearest neighbours: votes of similar rows of other folds."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.utils.extmath import randomized_svd

from eigenclean.arrays import Array, Bools, Float64s, Floats, Ints
from eigenclean.detect.judge.views.base import FixedView, LabelledRows, ViewScores, centred

if TYPE_CHECKING:
    from sklearn.neighbors import NearestNeighbors

N_NEIGHBOURS = 15
MAX_DIMENSIONS = 64  # rows with more columns are projected on their principal components
MAX_SEARCHED_ROWS = 20_000  # neighbours are searched among so many rows: the cost stays linear in the rows
_PCA_ROWS = 4000
_SEARCHED = 38  # so many neighbours hold 15 of other folds even if two of five folds are left out
_PSEUDO_VOTES = 1.0  # distributed like the classes, so that no class has score minus infinity
_FLOOR = 0.02


@dataclass(frozen=True, eq=False)
class NeighbourView(FixedView):
    """Log of the shares of the classes among the 15 nearest rows of other folds."""

    name: ClassVar[str] = "neighbours"
    max_rows: ClassVar[int] = 50_000
    max_columns: ClassVar[int] = 1 << 30

    _rows: LabelledRows
    _components: Floats | None
    _index: "NearestNeighbors"
    _shares: Float64s

    @classmethod
    def fit(cls, rows: LabelledRows) -> "NeighbourView":
        """Learn from labelled rows of positive weight."""
        from sklearn.neighbors import NearestNeighbors  # slow to import, and not every detector needs it

        shares = rows.class_shares
        kept = np.arange(len(rows.codes)) if rows.weight is None else np.flatnonzero(rows.weight)
        if len(kept) > MAX_SEARCHED_ROWS:  # the same rows in whatever order they come: they are in canonical order
            kept = np.sort(np.random.default_rng(0).permutation(kept)[:MAX_SEARCHED_ROWS])
        if len(kept) < len(rows.codes):
            rows = replace(
                rows,
                features=rows.features[kept],
                codes=rows.codes[kept],
                folds=rows.folds[kept],
                weight=None if rows.weight is None else rows.weight[kept],
            )
        prepared = rows.row_map.apply(rows.features)
        components: Floats | None = None
        if prepared.shape[1] > MAX_DIMENSIONS:
            some = prepared[np.random.default_rng(0).permutation(len(prepared))[:_PCA_ROWS]]
            n_components = min(MAX_DIMENSIONS, *some.shape)
            components = randomized_svd(some, n_components, n_iter=2, random_state=0)[2].T.astype(prepared.dtype)
            prepared = prepared @ components
        index = NearestNeighbors(n_neighbors=min(_SEARCHED, len(prepared))).fit(prepared)
        return cls(rows, components, index, shares)

    def scores(self, features: Array, folds: Ints, nested: bool = False) -> ViewScores:
        """Log-scores of rows in these folds, centred."""
        near = self._neighbours(features)
        near_folds = self._rows.folds[near]
        others = near_folds != folds[:, None]
        table = self._vote(near, others)
        if not nested:
            return ViewScores(table)
        outer = range(self._rows.n_folds)
        return ViewScores(table, np.stack([self._vote(near, others & (near_folds != fold)) for fold in outer]))

    def votes(self, table: Floats) -> Float64s:
        """The counts of the classes among the neighbours of each row, from the log-scores of these rows."""
        counts = softmax(table.astype(np.float64), axis=1)
        counts *= N_NEIGHBOURS + _PSEUDO_VOTES + _FLOOR * table.shape[1]
        return np.maximum(counts - _PSEUDO_VOTES * self._shares - _FLOOR, 0.0)

    def _vote(self, near: Ints, allowed: Bools) -> Floats:
        """Log-scores by the votes of the nearest allowed neighbours."""
        counted = allowed & (np.cumsum(allowed, axis=1) <= N_NEIGHBOURS)
        weights = counted.astype(np.float32)
        if self._rows.weight is not None:
            weights *= self._rows.weight[near]
        n, k = len(near), self._rows.n_classes
        cells = np.arange(n)[:, None] * k + self._rows.codes[near]
        votes = np.bincount(cells.ravel(), weights.ravel(), n * k).reshape(n, k)
        return centred(np.log(votes + _PSEUDO_VOTES * self._shares + _FLOOR))

    def _neighbours(self, features: Array) -> Ints:
        prepared = self._rows.row_map.apply(features)
        if self._components is not None:
            prepared = prepared @ self._components
        return np.asarray(self._index.kneighbors(prepared, return_distance=False))
