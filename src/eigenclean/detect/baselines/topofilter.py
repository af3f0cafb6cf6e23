"""TopoFilter: right labels of a class hang together in the graph of neighbours; wrong ones are scattered."""

from typing import ClassVar, Self

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from eigenclean.arrays import Array, Bools, Float64s, Ints, row_chunks
from eigenclean.detect.baselines.neighbours import Found, NeighbourDetector, Neighbours, check_count, sums_by_label
from eigenclean.detect.cuts import Cut
from eigenclean.errors import InvalidOption


class TopoFilter(NeighbourDetector):
    """TopoFilter (Wu et al., NeurIPS 2020): the largest connected component of each class, without its outliers.

    1. Every sample is joined with its ``k_cc`` nearest neighbours; only edges between equal labels stay, and of
       every class only its largest connected component (components that tie are all taken).
    2. Among the samples that are left, each looks at its ``k_outlier`` nearest and at itself: it is kept when its
       label is the most frequent one there, and is so at least ``zeta`` · ``k_outlier`` times.

    The score is ½ · agreement for what is dropped, and ½ + ½ · agreement for what is kept, where the agreement is
    the share of the second step's neighbours that have the same label, weighted by cosine: cut at ½ it is the
    method's own decision, and it also says how sure that is. A sample that was not there in `fit` belongs to the
    component of its class when one of its ``k_cc`` neighbours does. The published method keeps adding to the set
    while a network learns: the recipe "topofilter" does so too, by `adding_to`. Distances are those of cosines
    here, of euclid there. A tie for the most frequent label goes to the own one.

    Args:
        k_cc: neighbours that make the graph; more of them for very noisy labels.
        k_outlier: neighbours that are asked for outliers.
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
    _kept: Neighbours
    _so_far: Bools | None = None

    def __init__(
        self,
        *,
        k_cc: int = 4,
        k_outlier: int = 32,
        zeta: float = 0.5,
        cut: str | Cut = "fixed",
        threshold: float = 0.5,
    ) -> None:
        self.k_cc = k_cc
        self.k_outlier = k_outlier
        self.zeta = zeta
        self.cut = cut
        self.threshold = threshold

    def check_options(self) -> None:
        """Raise `InvalidOption` for a value that is not allowed; `fit` does so too."""
        super().check_options()
        check_count(self.k_cc, 1, by="TopoFilter", what="k_cc")
        check_count(self.k_outlier, 1, by="TopoFilter", what="k_outlier")
        if not self.zeta >= 0:
            raise InvalidOption(f"TopoFilter: zeta must not be negative, got {self.zeta}")

    def adding_to(self, kept: Bools | None) -> Self:
        """The next `fit` adds components to these rows, before it looks for outliers among all of them."""
        self._so_far = kept
        return self

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        self._remember(X, codes, weight)
        near = self._neighbours.find_own(self.k_cc).index
        self.in_component_ = _in_largest_component(near, self._neighbours.codes, len(self.classes_))
        if self._so_far is not None:
            learned = self._so_far if weight is None else self._so_far[weight > 0]
            self.in_component_ |= learned
        self._kept = self._neighbours.among(self.in_component_)
        return self._score(X, codes)

    def _score(self, X: Array, codes: Ints) -> Float64s:
        near = self._neighbours.find(X, codes, self.k_cc)
        found = self._kept.find(X, codes, self.k_outlier)
        inside = self._belongs(near, codes)
        k = found.index.shape[1]
        least = k * self.zeta if self.zeta <= 1 else 0.0
        scores = np.empty(len(X))
        for part in row_chunks(len(X), len(self.classes_) * 24):
            labels, at = self._kept.codes[found.index[part]], codes[part]
            counts = sums_by_label(labels, np.ones(labels.shape), len(self.classes_))
            counts[np.arange(len(counts)), at] += 1  # itself
            own = counts[np.arange(len(counts)), at]
            kept = inside[part] & (own >= counts.max(axis=1)) & (own >= least)
            cosine = np.maximum(1.0 - found.distance[part], 1e-6)
            agreement = (cosine * (labels == at[:, None])).sum(axis=1) + self._shares[at]
            scores[part] = 0.5 * kept + 0.5 * agreement / (cosine.sum(axis=1) + 1.0)
        return scores

    def _belongs(self, near: Found, codes: Ints) -> Bools:
        """Whether each row is in the component of its class: as it was learned, or as its neighbours are."""
        own_codes = self._neighbours.codes
        known = (near.own >= 0) & (own_codes[near.own] == codes)
        beside = (self.in_component_[near.index] & (own_codes[near.index] == codes[:, None])).any(axis=1)
        return np.where(known, self.in_component_[near.own], beside)

    def _suggest(self, X: Array, codes: Ints, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        found = self._kept.find(X, codes, self.k_outlier)
        best, share = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
        for part in row_chunks(len(rows), len(self.classes_) * 24):
            at = rows[part]
            cosine = np.maximum(1.0 - found.distance[at], 1e-6)
            votes = sums_by_label(self._kept.codes[found.index[at]], cosine, len(self.classes_))
            votes += 1e-3 * self._shares
            votes[np.arange(len(votes)), codes[at]] = 0.0
            best[part], share[part] = votes.argmax(axis=1), votes.max(axis=1) / votes.sum(axis=1)
        return best, share


def _in_largest_component(near: Ints, codes: Ints, n_classes: int) -> Bools:
    """Which rows are in the largest component of their class, when rows are joined with their like neighbours."""
    n = len(codes)
    ends = np.repeat(np.arange(n), near.shape[1]), near.ravel()
    alike = codes[ends[0]] == codes[ends[1]]
    ends = ends[0][alike], ends[1][alike]
    graph = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(n, n)).tocsr()
    _, component = connected_components(graph, directed=True, connection="weak")
    size = np.bincount(component)[component]  # a component is of one class
    largest = np.zeros(n_classes, dtype=np.intp)
    np.maximum.at(largest, codes, size)
    return np.asarray(size == largest[codes])
