"""Folds that keep groups of rows together: copies of a scene, a patient or a user never judge each other."""

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from eigenclean.arrays import Array, Ints, encode_labels
from eigenclean.detect.folds import folds_of_hashes, mixed
from eigenclean.errors import InvalidData
from eigenclean.sources import as_vector

_MANY = 200  # groups per fold from which their sizes even out by themselves


@dataclass(frozen=True, eq=False)
class GroupFolds:
    """Assigns rows to folds by their group, in whatever order they come.

    Rows are known by their content. Groups that have a row in common are one group, as a row and its copy must not
    be in different folds either.

    Attributes:
        hashes: content hashes of the rows, sorted.
        groups: the group of each, a number.
        keys: hash of each group; it does not depend on names and order of the groups.
        sizes: number of rows of each group.
    """

    hashes: NDArray[np.uint64]
    groups: Ints
    keys: NDArray[np.uint64]
    sizes: Ints

    @classmethod
    def of(cls, row_hashes: NDArray[np.uint64], labels: Any, n_folds: int, *, by: str) -> "GroupFolds":
        """Groups of rows with these content hashes; ``labels`` says which group each row belongs to."""
        groups = check_groups(labels, len(row_hashes), by=by)
        hashes, rows = np.unique(row_hashes, return_inverse=True)
        names, codes = encode_labels(groups)
        # Contents and groups are nodes of one graph, and each row is an edge of it.
        n = len(hashes) + len(names)
        graph = coo_array((np.ones(len(rows)), (rows, codes + len(hashes))), shape=(n, n))
        parts, component = connected_components(graph, directed=False)
        if parts < n_folds:
            raise InvalidData(
                f"{by}: rows must be in at least {n_folds} groups, so that some can judge the others, got {parts}"
            )
        keys = np.full(parts, np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(keys, component[: len(hashes)], hashes)
        sizes = np.bincount(component[rows], minlength=parts)
        return cls(hashes, component[: len(hashes)].astype(np.intp), mixed(keys), sizes)

    def folds(self, row_hashes: NDArray[np.uint64], n_folds: int, repeat: int = 0) -> Ints:
        """The fold of rows with these content hashes; rows that are in no group are assigned by their content."""
        folds = folds_of_hashes(row_hashes, n_folds, repeat)
        at = np.minimum(np.searchsorted(self.hashes, row_hashes), len(self.hashes) - 1)
        known = self.hashes[at] == row_hashes
        folds[known] = self._group_folds(n_folds, repeat)[self.groups[at[known]]]
        return folds

    def _group_folds(self, n_folds: int, repeat: int) -> Ints:
        """The fold of each group: by its hash or, where groups are few, the smallest fold, largest groups first."""
        if len(self.keys) >= _MANY * n_folds:
            return folds_of_hashes(self.keys, n_folds, repeat)
        shuffled = mixed(self.keys ^ np.uint64(repeat))
        folds = np.empty(len(self.keys), dtype=np.intp)
        lightest = [(0, fold) for fold in range(n_folds)]
        for group in np.lexsort((shuffled, -self.sizes)).tolist():
            size, fold = heapq.heappop(lightest)
            folds[group] = fold
            heapq.heappush(lightest, (size + int(self.sizes[group]), fold))
        return folds


def check_groups(labels: Any, n_rows: int, *, by: str) -> Array:
    """One group per row, as an array; `InvalidData` otherwise."""
    groups = as_vector(labels)
    if groups.ndim != 1 or len(groups) != n_rows:
        raise InvalidData(f"{by}: groups must be one value for each of the {n_rows} rows, got shape {groups.shape}")
    return groups.astype(str) if groups.dtype.kind in "OT" else groups


def groups_of_one_class(labels: Array, groups: Array) -> list[Any]:
    """Classes all of whose rows are in one group, so that no other group can judge them.

    >>> groups_of_one_class(np.array(["a", "a", "b", "b"]), np.array([0, 1, 2, 2]))
    ['b']
    """
    classes, codes = encode_labels(labels)
    _, numbers = encode_labels(groups)
    pairs = np.unique(codes * (int(numbers.max(initial=0)) + 1) + numbers)
    counts = np.bincount(pairs // (int(numbers.max(initial=0)) + 1), minlength=len(classes))
    return list(classes[counts == 1].tolist())
