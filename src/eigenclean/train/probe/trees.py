"""A forest as a head: trained by scikit-learn, kept as plain arrays, so that it is saved without pickle."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Float64s, Floats, Ints

MAX_ROWS = 50_000
MAX_COLUMNS = 512
N_TREES = 100
MAX_TREE_ROWS = 8192  # rows of one tree
MAX_PURE_CELLS = 80_000  # rows x classes: pure leaves of so many take 64 MB at most
PRIOR_SHARE = 0.03  # of the class shares, so that no class has score minus infinity


@dataclass(frozen=True, eq=False)
class Forest:
    """The nodes of all trees, one after the other.

    Attributes:
        roots: number of the first node of each tree.
        feature: column that a node compares; -1 for a leaf.
        threshold: rows up to it go to the left.
        left: number of the left child.
        right: number of the right child.
        value: shares of the classes in a node, nodes x K.
        shares: of the classes in the training data.
    """

    roots: Ints
    feature: Ints
    threshold: Float64s
    left: Ints
    right: Ints
    value: Floats
    shares: Float64s

    def scores(self, features: Array) -> Float64s:
        """Logarithms of the mean class shares in the leaves, n x K."""
        rows = np.asarray(features, dtype=np.float32)  # as in scikit-learn
        total = np.zeros((len(rows), self.value.shape[1]))
        for root in self.roots:
            nodes = np.full(len(rows), root)
            active = np.flatnonzero(self.feature[nodes] >= 0)
            while len(active):
                at = nodes[active]
                goes_left = rows[active, self.feature[at]] <= self.threshold[at]
                nodes[active] = np.where(goes_left, self.left[at], self.right[at])
                active = active[self.feature[nodes[active]] >= 0]
            total += self.value[nodes]
        return self._log(total / len(self.roots))

    def _log(self, probabilities: Float64s) -> Float64s:
        return np.asarray(np.log((1 - PRIOR_SHARE) * probabilities + PRIOR_SHARE * self.shares + 1e-12))

    def arrays(self) -> dict[str, Array]:
        """The arrays by name, as they are stored in a file."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "Forest":
        """The forest of `arrays`, checked: a node never leads back, and no column or class is missing."""
        forest = cls(**{name: arrays[name] for name in cls.__dataclass_fields__})
        n, inner = len(forest.feature), forest.feature >= 0
        numbers = np.flatnonzero(inner)
        lengths = {
            len(each) for each in (forest.feature, forest.threshold, forest.left, forest.right, forest.value)
        }
        children = np.stack([forest.left, forest.right])[:, inner]
        if lengths != {n} or (children <= numbers).any() or (children >= n).any():
            raise ValueError("the nodes of its trees do not fit together")
        if (forest.roots < 0).any() or (forest.roots >= n).any() or forest.value.shape != (n, len(forest.shares)):
            raise ValueError("the roots or values of its trees do not fit to the nodes")
        return forest


@dataclass(frozen=True, eq=False)
class ForestFit:
    """A forest, and scores of each row by the trees that did not draw it."""

    head: Forest
    left_out_scores: Float64s


def fit_forest(features: Array, codes: Ints, weight: Float64s, n_classes: int, seed: int) -> ForestFit:
    """Extremely randomised trees; left-out scores are those of trees on bootstrap samples of the rows.

    The forest itself learns from all rows with pure leaves, as is usual, unless its leaves would take much memory.
    """
    from sklearn.ensemble import ExtraTreesClassifier  # slow to import

    pure = len(codes) <= MAX_TREE_ROWS and len(codes) * n_classes <= MAX_PURE_CELLS
    drawn = ExtraTreesClassifier(
        N_TREES,
        min_samples_leaf=1 if pure else 2,
        bootstrap=True,
        oob_score=True,
        max_samples=MAX_TREE_ROWS if len(codes) > MAX_TREE_ROWS else None,
        random_state=seed,
    ).fit(features, codes, weight)
    trees = ExtraTreesClassifier(N_TREES, random_state=seed).fit(features, codes, weight) if pure else drawn
    classes = trees.classes_
    shares = np.bincount(codes, weight, n_classes) / weight.sum()
    offsets = np.cumsum([0, *(tree.tree_.node_count for tree in trees.estimators_)])
    nodes: list[Any] = [tree.tree_ for tree in trees.estimators_]
    is_inner = np.concatenate([node.children_left for node in nodes]) >= 0
    value = np.zeros((offsets[-1], n_classes), dtype=np.float32)
    value[:, classes] = np.concatenate([node.value[:, 0, :] for node in nodes])
    value /= np.maximum(value.sum(axis=1, keepdims=True), 1e-12)
    forest = Forest(
        roots=offsets[:-1].astype(np.int64),
        feature=np.where(is_inner, np.concatenate([node.feature for node in nodes]), -1).astype(np.int64),
        threshold=np.concatenate([node.threshold for node in nodes]),
        left=np.concatenate([node.children_left + start for node, start in zip(nodes, offsets, strict=False)]),
        right=np.concatenate([node.children_right + start for node, start in zip(nodes, offsets, strict=False)]),
        value=value,
        shares=shares,
    )
    left_out = np.zeros((len(codes), n_classes))
    left_out[:, classes] = drawn.oob_decision_function_
    drawn_always = ~np.isfinite(left_out).all(axis=1) | (left_out.sum(axis=1) == 0)
    left_out[drawn_always] = shares
    return ForestFit(forest, forest._log(left_out))
