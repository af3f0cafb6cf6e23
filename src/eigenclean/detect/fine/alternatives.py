"""Alternative classes of a flagged sample, by the scores that it would have there."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints, row_chunks, working_dtype
from eigenclean.detect.cuts import Cut
from eigenclean.progress import quiet

N_ALTERNATIVES = 5  # classes that share the probability of being the right one
MAX_SCORED_CLASSES = 64  # up to so many classes, scoring all of them takes less time than reading the rows again


class Scorer(Protocol):
    """The interface of objects that score rows in their given class and in all others."""

    classes_: Array

    def _score(self, X: Array, codes: Ints) -> Float64s: ...

    def _alternatives(self, block: Array, codes: Ints) -> tuple[Ints, Float64s]: ...

    @property
    def _row_bytes(self) -> int: ...


@dataclass(frozen=True, eq=False)
class ScoredBlock:
    """Scores of a block of rows, computed in one pass with the alternatives: the rows need not be read again.

    Attributes:
        scores: the score of each row in its given class.
        alternatives: the alternative classes of each row, best first.
        alternative_scores: the score of the row in each of them.
    """

    scores: Float64s
    alternatives: Ints
    alternative_scores: Float64s

    def suggest(self, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
        """The best alternative of some rows of the block, and its probability given that the label is wrong."""
        return best_alternative(self.alternatives[rows], self.alternative_scores[rows], cut)


def score_block(features: Array, codes: Ints, scorer: Scorer) -> ScoredBlock:
    """Scores and alternatives of a block of rows, computed in chunks."""
    dtype, small = working_dtype(features.dtype), np.min_scalar_type(len(scorer.classes_))
    with quiet():
        scores = scorer._score(features, codes)
    chunks = []
    for chunk in row_chunks(len(features), scorer._row_bytes):
        alternatives, alternative_scores = scorer._alternatives(
            features[chunk].astype(dtype, copy=False), codes[chunk]
        )
        chunks.append((alternatives.astype(small), alternative_scores))
    return ScoredBlock(
        scores,
        np.concatenate([alternatives for alternatives, _ in chunks]),
        np.concatenate([alternative_scores for _, alternative_scores in chunks]),
    )


def top_alternatives(scores: Float64s, codes: Ints) -> tuple[Ints, Float64s]:
    """The other classes with the highest scores of each row, best first, and these scores; overwrites ``scores``.

    >>> top_alternatives(np.array([[0.9, 0.2, 0.8]]), np.array([0]))
    (array([[2, 1]]), array([[0.8, 0.2]]))
    """
    scores[np.arange(len(scores)), codes] = -1.0  # scores are not negative: never chosen
    n = min(N_ALTERNATIVES, scores.shape[1] - 1)
    best = np.argpartition(-scores, n - 1, axis=1)[:, :n]
    best_scores = np.take_along_axis(scores, best, axis=1)
    order = np.argsort(-best_scores, axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1), np.take_along_axis(best_scores, order, axis=1)


def best_alternative(alternatives: Ints, scores: Float64s, cut: Cut) -> tuple[Ints, Float64s]:
    """The first alternative, and how typical the score is of that class, as a share among all alternatives."""
    if not len(alternatives):
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    typicality = cut.percentile(scores.ravel(), alternatives.ravel()).reshape(scores.shape) + 1e-3
    return alternatives[:, 0].astype(np.intp), typicality[:, 0] / typicality.sum(axis=1)
