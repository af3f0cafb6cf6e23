"""TopoFilter: right labels of a class form a large component of the neighbour graph, wrong ones do not."""

from typing import ClassVar, Self

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from eigenclean.arrays import Array, Bools, Float64s, Ints, row_chunks
from eigenclean.detect.baselines.neighbours import (
    METRICS,
    Metric,
    NeighbourDetector,
    NeighbourIndex,
    Neighbours,
    check_count,
    sums_by_label,
)
from eigenclean.detect.cuts import Cut
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name


class TopoFilter(NeighbourDetector):
    """TopoFilter (Wu et al., NeurIPS 2020): the largest connected component of each class, without its outliers.

    1. Every sample is joined with its ``k_cc`` nearest neighbours; only edges between equal labels stay, and of
       every class only its largest connected component (components that tie are all taken).
    2. Each remaining sample is compared with its ``k_outlier`` nearest neighbours among these: it is kept when its
       label is the most frequent one, itself counted, and occurs at least ``zeta`` · ``k_outlier`` times.

    The score is ½ · agreement for what is dropped, and ½ + ½ · agreement for what is kept, where the agreement is
    the share of the second step's neighbours that have the same label (weighted by cosine, if that is the metric):
    cut at ½ it is the decision of the method, and it also ranks samples by confidence. A sample that was not in
    `fit` belongs to the component of its class when one of its ``k_cc`` neighbours does. The published method keeps
    adding to the set while a network learns: the recipe "topofilter" does so too, by `adding_to`. A tie for the
    most frequent label is decided for the given one.

    Args:
        k_cc: neighbours that make the graph; more of them for very noisy labels.
        k_outlier: neighbours that decide about outliers.
        metric: of the neighbours: "euclidean" of the rows as they are, as published, or "cosine".
        zeta: share of them that must agree, from 0; above 1 the most frequent label alone decides.
        cut: "fixed" cuts at ½, which is the decision above; or another name, or a Cut.
        threshold: labels are kept when P(right) is strictly above it.

    Attributes:
        classes_: sorted labels.
        in_component_: for each sample learned from, whether it is in the largest component of its class.
        cut_: the fitted cut.

    Examples:
        >>> from sklearn.datasets import load_digits
        >>> X, y = load_digits(return_X_y=True)
        >>> wrong = y.copy()
        >>> wrong[::10] = (wrong[::10] + 1) % 10
        >>> verdict = TopoFilter().judge(X, wrong)
        >>> bool(verdict.flagged[::10].mean() > 0.9), bool(verdict.flagged.mean() < 0.2)
        (True, True)
    """

    name: ClassVar[str] = "topofilter"

    in_component_: Bools
    _kept: NeighbourIndex
    _so_far: Bools | None = None

    def __init__(
        self,
        *,
        k_cc: int = 4,
        k_outlier: int = 32,
        metric: Metric = "euclidean",
        zeta: float = 0.5,
        cut: str | Cut = "fixed",
        threshold: float = 0.5,
    ) -> None:
        self.k_cc = k_cc
        self.k_outlier = k_outlier
        self.metric = metric
        self.zeta = zeta
        self.cut = cut
        self.threshold = threshold

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        check_count(self.k_cc, 1, by="TopoFilter", what="k_cc")
        check_count(self.k_outlier, 1, by="TopoFilter", what="k_outlier")
        check_name(self.metric, METRICS, by="TopoFilter", what="metric")
        if not self.zeta >= 0:
            raise InvalidOption(f"TopoFilter: zeta must not be negative, got {self.zeta}")

    def adding_to(self, kept: Bools | None) -> Self:
        """The next `fit` adds the components to these rows before it removes outliers among all of them."""
        self._so_far = kept
        return self

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        self._store_training_rows(X, codes, weight, self.metric)
        near = self._neighbours.find_within(self.k_cc).index
        self.in_component_ = _in_largest_component(near, self._neighbours.codes, len(self.classes_))
        if self._so_far is not None:
            self.in_component_ |= self._so_far if weight is None else self._so_far[weight > 0]
        self._kept = self._neighbours.among(self.in_component_)
        return self._score(X, codes)

    def _score(self, X: Array, codes: Ints) -> Float64s:
        near = self._neighbours.find(X, codes, self.k_cc)
        neighbours = self._kept.find(X, codes, self.k_outlier)
        inside = self._belongs(near, codes)
        k = neighbours.index.shape[1]
        least = k * self.zeta if self.zeta <= 1 else 0.0
        scores = np.empty(len(X))
        for chunk in row_chunks(len(X), len(self.classes_) * 24):
            labels, given = self._kept.codes[neighbours.index[chunk]], codes[chunk]
            counts = sums_by_label(labels, np.ones(labels.shape), len(self.classes_))
            counts[np.arange(len(counts)), given] += 1  # itself
            equal = counts[np.arange(len(counts)), given]
            is_kept = inside[chunk] & (equal >= counts.max(axis=1)) & (equal >= least)
            closeness = self._closeness(neighbours, chunk)
            agreement = (closeness * (labels == given[:, None])).sum(axis=1) + self._shares[given]
            scores[chunk] = 0.5 * is_kept + 0.5 * agreement / (closeness.sum(axis=1) + 1.0)
        return scores

    def _closeness(self, neighbours: Neighbours, rows: slice | Ints) -> Float64s:
        """Weights of the neighbours: their cosines; 1 for Euclidean distances, which have no natural scale."""
        distance = neighbours.distance[rows]
        return np.maximum(1.0 - distance, 1e-6) if self.metric == "cosine" else np.ones_like(distance)

    def _belongs(self, near: Neighbours, codes: Ints) -> Bools:
        """Whether each row is in the component of its class: as in `fit`, or for a new row, if a neighbour is."""
        training_codes = self._neighbours.codes
        known = (near.self_index >= 0) & (training_codes[near.self_index] == codes)
        connected = self.in_component_[near.index] & (training_codes[near.index] == codes[:, None])
        return np.where(known, self.in_component_[near.self_index], connected.any(axis=1))

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        neighbours = self._kept.find(X, codes, self.k_outlier)
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        for chunk in row_chunks(len(rows), len(self.classes_) * 24):
            suspects = rows[chunk]
            closeness = self._closeness(neighbours, suspects)
            votes = sums_by_label(self._kept.codes[neighbours.index[suspects]], closeness, len(self.classes_))
            votes += 1e-3 * self._shares
            votes[np.arange(len(votes)), codes[suspects]] = 0.0
            best[chunk], share[chunk] = votes.argmax(axis=1), votes.max(axis=1) / votes.sum(axis=1)
        return best, share


def _in_largest_component(near: Ints, codes: Ints, n_classes: int) -> Bools:
    """Which rows are in the largest component of their class, when joined with neighbours of the same label."""
    n = len(codes)
    ends = np.repeat(np.arange(n), near.shape[1]), near.ravel()
    same_label = codes[ends[0]] == codes[ends[1]]
    ends = ends[0][same_label], ends[1][same_label]
    graph = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(n, n)).tocsr()
    _, component = connected_components(graph, directed=True, connection="weak")
    size = np.bincount(component)[component]  # all rows of a component have the same label
    largest = np.zeros(n_classes, dtype=np.intp)
    np.maximum.at(largest, codes, size)
    return np.asarray(size == largest[codes])
