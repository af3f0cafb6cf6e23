"""What to label again, and by whom: the labels from which most is expected to be learned."""

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from eigenclean.arrays import Array, Bools, Float64s, Ints
from eigenclean.detect.annotators.model import AnnotatorModel
from eigenclean.errors import InvalidOption

ANYBODY = ""  # stands for an annotator who has not labelled anything yet
_ROWS_PER_QUESTION = 20  # so many of the most uncertain rows are considered for each question
_MAX_ANNOTATORS = 200  # considered: those whose labels say most
_FAIR_SHARE = 2.0  # nobody gets more than so many times an equal share of the questions


@dataclass(frozen=True, eq=False)
class Questions:
    """Rows to label again, most informative first.

    Attributes:
        rows: row of each question.
        annotators: name of who should answer it; empty for somebody new, where all have labelled the row already.
        gain: expected information about the right label, in bits.
    """

    rows: Ints
    annotators: Array
    gain: Float64s

    def __len__(self) -> int:
        return len(self.rows)


def choose_questions(model: AnnotatorModel, n: int) -> Questions:
    """The ``n`` pairs of row and annotator with the largest mutual information of the new label and the right one.

    Every row is asked about once, and no annotator gets more than twice an equal share of the questions: the best
    one would get all of them otherwise.
    """
    if isinstance(n, bool) or n < 1:
        raise InvalidOption(f"--ask must be a whole number from 1, got {n!r}")
    given, posterior = model.annotations, model.posterior
    entropy = -xlogy(posterior, posterior).sum(axis=1)
    rows = np.argsort(-entropy, kind="stable")[: _ROWS_PER_QUESTION * n]
    transitions = model.transitions
    weights = given.per_annotator / given.per_annotator.sum()
    new = np.tensordot(weights, transitions, axes=1)[None]  # an annotator like the average of all
    shares = posterior.mean(axis=0)
    usefulness = np.array([float(information(shares[None], each)[0]) for each in transitions])
    candidates = np.argsort(-usefulness, kind="stable")[:_MAX_ANNOTATORS]
    gains = np.stack(
        [information(posterior[rows], each) for each in np.concatenate([transitions[candidates], new])]
    )
    has_labelled = _has_labelled(model, rows, candidates)
    gains[:-1][has_labelled] = -np.inf
    gains[-1, ~has_labelled.all(axis=0)] = -np.inf
    limit = np.full(len(gains), int(np.ceil(_FAIR_SHARE * n / len(given.names))))
    limit[-1] = n
    chosen = _assign(gains, limit, n)
    names = np.array([*given.names[candidates].astype(str).tolist(), ANYBODY])
    annotators, positions = np.array(chosen, dtype=np.intp).reshape(-1, 2).T
    return Questions(rows[positions], names[annotators], gains[annotators, positions] / np.log(2.0))


def information(posterior: Float64s, transition: Float64s) -> Float64s:
    """Mutual information of the right label and one more label by an annotator with this T, in nats, for each row.

    >>> information(np.array([[0.5, 0.5], [1.0, 0.0]]), np.eye(2)).round(3)
    array([0.693, 0.   ])
    """
    predicted = posterior @ transition
    noise = -xlogy(transition, transition).sum(axis=1)
    return np.asarray(np.maximum(-xlogy(predicted, predicted).sum(axis=1) - posterior @ noise, 0.0))


def _has_labelled(model: AnnotatorModel, rows: Ints, annotators: Ints) -> Bools:
    """Annotators x rows: whether the annotator has labelled the row."""
    given = model.annotations
    row_place, annotator_place = np.full(given.n_rows, -1), np.full(len(given.names), -1)
    row_place[rows], annotator_place[annotators] = np.arange(len(rows)), np.arange(len(annotators))
    first, second = annotator_place[given.annotators], row_place[given.rows]
    known = (first >= 0) & (second >= 0)
    table = np.zeros((len(annotators), len(rows)), dtype=bool)
    table[first[known], second[known]] = True
    return table


def _assign(gains: Float64s, limit: Ints, n: int) -> list[tuple[int, int]]:
    """Pairs (annotator, row), largest gain first; each row once, each annotator up to the limit."""
    is_assigned, remaining = np.zeros(gains.shape[1], dtype=bool), limit.copy()
    chosen: list[tuple[int, int]] = []
    for pair in np.argsort(-gains, axis=None, kind="stable").tolist():
        annotator, row = divmod(pair, gains.shape[1])
        if len(chosen) == n or gains[annotator, row] <= 0:
            break
        if not is_assigned[row] and remaining[annotator] > 0:
            is_assigned[row] = True
            remaining[annotator] -= 1
            chosen.append((annotator, row))
    return chosen
