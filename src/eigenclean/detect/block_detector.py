"""Detectors whose statistics are sums over rows: they go through the rows in blocks and judge data of any size.

The same detector serves all engines: arrays in memory, files larger than memory (`eigenclean.scale.stream`) and a
Dask cluster (`eigenclean.scale.dask`) differ only in where the `Blocks` come from.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints, check_class_sizes, check_two_classes
from eigenclean.deprecation import RenamedAttribute
from eigenclean.detect.base import Detector
from eigenclean.detect.blocks import Blocks, block_rows, split_rows
from eigenclean.detect.cuts import Cut
from eigenclean.progress import quiet


@dataclass(frozen=True)
class BlockScores:
    """Scores of rows in blocks, and a function that suggests labels.

    Attributes:
        scores: the scores of the rows of each block.
        suggest: for the flagged rows of each block and the fitted cut: another class each, and its probability
            given that the label is wrong.
    """

    scores: Blocks[Float64s]
    suggest: Callable[[Blocks[Ints], Cut], Blocks[tuple[Ints, Float64s]]]

    def in_original_order(self, order: Ints) -> "BlockScores":
        """The same for the rows of a single block as they came before they were put in this order."""
        position = np.argsort(order)
        return BlockScores(
            self.scores.map(np.take, args=(position,)),
            lambda flagged, cut: self.suggest(flagged.map(_positions, args=(position,)), cut),
        )

    def suggest_rows(self, rows: Ints, block_size: int, cut: Cut) -> tuple[Ints, Float64s]:
        """The same for ascending row numbers, where every block but the last has ``block_size`` rows."""
        starts = block_size * np.arange(len(self.scores))
        by_block = np.split(rows, np.searchsorted(rows, starts[1:]))
        flagged = self.scores.from_items([block - start for block, start in zip(by_block, starts, strict=True)])
        best, share = zip(*self.suggest(flagged, cut), strict=True)
        return np.concatenate(best), np.concatenate(share)


class BlockDetector(Detector):
    """A detector that is fitted on rows in blocks; it implements `_learn_blocks` in place of `_learn`.

    After `fit_blocks`, `fit_cut_to_scores` fits the cut and `apply_decision` sets the flags.
    """

    judge_blocks = RenamedAttribute("score_blocks")

    def fit_blocks(
        self,
        features: Blocks[Array],
        codes: Blocks[Ints],
        classes: Array,
        n_features: int,
        exponent: int = 0,
        weights: Blocks[Float64s] | None = None,
    ) -> BlockScores:
        """Learn from checked rows of ``n_features`` columns in blocks, whose labels are ``classes[codes]``.

        ``exponent`` says that the rows were multiplied by ``2**-exponent``, see `eigenclean.detect.value_range`.
        Rows of weight 0 are judged, and nothing is learned from them.
        """
        self.check_options()
        check_two_classes(classes, by=self._by)
        check_class_sizes(codes.total(_class_counts, args=(len(classes),)), by=self._by)
        self.classes_, self.n_features_in_, self.feature_exponent_ = classes, n_features, exponent
        if hasattr(self, "cut_"):
            del self.cut_
        return self._learn_blocks(features, codes, weights)

    def score_blocks(self, features: Blocks[Array], codes: Blocks[Ints]) -> BlockScores:
        """Score checked rows in blocks with the fitted detector."""
        self.check_options()
        fitted = self._for_inference()
        return BlockScores(
            features.map(_score_block, codes, args=(fitted,)),
            lambda rows, cut: features.map(_suggest_block, codes, rows, args=(fitted, cut)),
        )

    @abstractmethod
    def _learn_blocks(
        self, features: Blocks[Array], codes: Blocks[Ints], weights: Blocks[Float64s] | None = None
    ) -> BlockScores:
        """Learn from the rows (of positive weight) and return the scores of all of them."""

    def _learn(self, X: Array, codes: Ints, weight: Float64s | None) -> Float64s:
        """Arrays in memory are blocks as well: slices, cut where every other engine cuts."""
        n_rows = block_rows(X)
        weights = None if weight is None else split_rows(weight, n_rows)
        block_scores = self._learn_blocks(split_rows(X, n_rows), split_rows(codes, n_rows), weights)
        return np.concatenate(list(block_scores.scores))

    def _for_inference(self) -> Self:
        """The fitted detector without the state that only fitting needs: it is sent to every worker."""
        return self


def _positions(rows: Ints, position: Ints) -> Ints:
    return np.asarray(position[rows])


def _class_counts(codes: Ints, k: int) -> Ints:
    return np.bincount(codes, minlength=k)


def _score_block(features: Array, codes: Ints, detector: Detector) -> Float64s:
    with quiet():
        return detector._score(features, codes)


def _suggest_block(features: Array, codes: Ints, rows: Ints, detector: Detector, cut: Cut) -> tuple[Ints, Float64s]:
    if not len(rows):
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    return detector._suggest(features, codes, rows, cut)
