"""The baseline of `eigenclean bench quality`: confident learning as cleanlab does it with features."""

import numpy as np
from sklearn.preprocessing import normalize

from eigenclean.arrays import Array, Float64s, Ints, encode_labels
from eigenclean.extras import require
from eigenclean.verdict import Verdict
from eigenclean_lab.bench.quality.case import Case
from eigenclean_lab.bench.quality.neighbours import nearest_votes

NAME = "cleanlab-knn"
NEIGHBOURS = 10  # cleanlab's default


def judge_with_baseline(name: str, case: Case, seed: int) -> tuple[Verdict, float]:
    """The verdict on a case; nothing was computed before, so there are no seconds to add."""
    return judge_with_cleanlab(case.features, case.labels), 0.0


def judge_with_cleanlab(X: Array, y: Array) -> Verdict:
    """Votes of the 10 nearest other samples are the class probabilities; confident learning does the rest.

    Nearest by angle, which is what cleanlab does with features of unit length. On CIFAR-10 features that is better
    than distances of the features as they are (AUROC .949 against .938 for `aggre`), on digits a little worse.
    """
    filtering = require("cleanlab.filter", extra="cleanlab", caller=f"bench quality, {NAME}")
    ranking = require("cleanlab.rank", extra="cleanlab", caller=f"bench quality, {NAME}")
    classes, codes = encode_labels(y)
    votes = neighbour_votes(X, codes, len(classes))
    flagged = np.asarray(filtering.find_label_issues(codes, votes, n_jobs=1), dtype=bool)
    score = np.asarray(ranking.get_label_quality_scores(codes, votes), dtype=np.float64)
    others = votes.copy()
    others[np.arange(len(codes)), codes] = -1.0
    best = others.argmax(axis=1)
    return Verdict(
        ids=np.arange(len(codes)),
        labels=classes[codes],
        score=score,
        p_clean=votes[np.arange(len(codes)), codes],
        flagged=flagged,
        suggested=classes[np.where(flagged, best, codes)],
        suggested_confidence=votes.max(axis=1),
        made_by={"method": NAME, "parameters": {"n_neighbors": NEIGHBOURS}},
    )


def neighbour_votes(X: Array, codes: Ints, n_classes: int, k: int = NEIGHBOURS) -> Float64s:
    """n x K: the share of each class among the k nearest others by angle; a sample does not vote for itself.

    >>> neighbour_votes(np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 5.0], [1.0, 0.0]]), np.array([0, 0, 1, 1]), 2, k=2)
    array([[0.5, 0.5],
           [0.5, 0.5],
           [1. , 0. ],
           [0.5, 0.5]])
    """
    # With rows of unit length plain distances order as angles do, and scikit-learn is quicker with those.
    return nearest_votes(normalize(X), codes, n_classes, k)
