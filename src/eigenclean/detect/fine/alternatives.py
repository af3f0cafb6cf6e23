"""The classes that a flagged sample may belong to instead, by the scores that it would have there."""

from typing import NamedTuple, Protocol

import numpy as np

from eigenclean.arrays import Array, Float64s, Ints, row_chunks, working_dtype
from eigenclean.detect.cuts import Cut
from eigenclean.progress import quiet

CANDIDATES = 5  # classes that share the probability of being the right one
FEW = 64  # classes up to which products with all their vectors take less time than reading the rows again


class Scorer(Protocol):
    """What knows the scores of rows in their own class and in others."""

    classes_: Array

    def _score(self, X: Array, codes: Ints) -> Float64s: ...

    def _rivals(self, block: Array, codes: Ints) -> tuple[Ints, Float64s]: ...

    @property
    def _row_bytes(self) -> int: ...


class Seen(NamedTuple):
    """What is noted of a block of rows, so that they need not be read again."""

    scores: Float64s
    rivals: Ints
    fit: Float64s  # the scores there


def score_and_rivals(features: Array, codes: Ints, scorer: Scorer) -> Seen:
    """Both in one pass, a piece at a time."""
    dtype, small = working_dtype(features.dtype), np.min_scalar_type(len(scorer.classes_))
    with quiet():
        scores = scorer._score(features, codes)
    found = []
    for part in row_chunks(len(features), scorer._row_bytes):
        rivals, fit = scorer._rivals(features[part].astype(dtype, copy=False), codes[part])
        found.append((rivals.astype(small), fit))
    return Seen(scores, np.concatenate([rivals for rivals, _ in found]), np.concatenate([fit for _, fit in found]))


def scores_seen(seen: Seen) -> Float64s:
    """The scores alone."""
    return seen.scores


def suggest_seen(seen: Seen, rows: Ints, cut: Cut) -> tuple[Ints, Float64s]:
    """The best rival of some rows of the block."""
    return best_rival(seen.rivals[rows], seen.fit[rows], cut)


def closest(scores: Float64s, codes: Ints) -> tuple[Ints, Float64s]:
    """The other classes with the highest scores of each row, best first, and these scores; ``scores`` is used up.

    >>> closest(np.array([[0.9, 0.2, 0.8]]), np.array([0]))
    (array([[2, 1]]), array([[0.8, 0.2]]))
    """
    scores[np.arange(len(scores)), codes] = -1.0  # scores are not negative: never chosen
    candidates = min(CANDIDATES, scores.shape[1] - 1)
    best = np.argpartition(-scores, candidates - 1, axis=1)[:, :candidates]
    fit = np.take_along_axis(scores, best, axis=1)
    order = np.argsort(-fit, axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1), np.take_along_axis(fit, order, axis=1)


def best_rival(rivals: Ints, scores: Float64s, cut: Cut) -> tuple[Ints, Float64s]:
    """The first of the rivals, and how usual the score is there, as a share among all of them."""
    if not len(rivals):
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    usual = cut.percentile(scores.ravel(), rivals.ravel()).reshape(scores.shape) + 1e-3
    return rivals[:, 0].astype(np.intp), usual[:, 0] / usual.sum(axis=1)
