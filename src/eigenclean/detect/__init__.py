"""Detectors say which labels are probably wrong."""

import warnings
from typing import Any

import numpy as np

from eigenclean.arrays import Bools, check_labels
from eigenclean.detect.annotators.consensus import Consensus, judge_annotations
from eigenclean.detect.base import Detector, plain_parameters
from eigenclean.detect.block_detector import BlockDetector
from eigenclean.detect.decisions import at_most_false_flags
from eigenclean.detect.fine.fine import FINE
from eigenclean.detect.judge.verified import judge_verified
from eigenclean.detect.predictions import PROBABILITIES_AS_FEATURES, are_probabilities, fit_to_evidence
from eigenclean.detect.registry import DEFAULT, DETECTORS, as_block_detector, build_detector, detector
from eigenclean.errors import EigencleanWarning, MissingEvidence
from eigenclean.evidence import Evidence
from eigenclean.sources import as_matrix, as_vector
from eigenclean.sources.predictions.reading import read_probabilities

__all__ = [
    "DEFAULT",
    "DETECTORS",
    "FINE",
    "BlockDetector",
    "Consensus",
    "Detector",
    "as_block_detector",
    "at_most_false_flags",
    "build_detector",
    "detector",
    "find_label_issues",
    "fit_to_evidence",
    "judge_annotations",
    "judge_verified",
    "plain_parameters",
]


def find_label_issues(
    labels: Any, features: Any = None, pred_probs: Any = None, *, method: str | None = None, **options: Any
) -> Bools:
    """A mask over the samples: True where the label is probably wrong.

    Args:
        labels: one label per sample, integers or strings.
        features: n x d, array or dataframe.
        pred_probs: n x K, out-of-sample probabilities of the classes by a model of yours: an array with the columns
            in the order of the sorted classes, or a dataframe with the names of the classes as columns. With or
            without features.
        method: name of the detector; None takes the default judge.
        **options: options of the detector.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> y[:50] = (y[:50] + 1) % 10
    >>> issues = find_label_issues(y, features=X)
    >>> bool(issues[:50].mean() > issues[50:].mean())
    True
    """
    judge = detector(method, **options)
    if features is None and pred_probs is None:
        raise MissingEvidence(f"find_label_issues: {judge.name} needs {judge.consumes}, but only labels were given")
    if pred_probs is None:
        if judge.consumes == "features" and are_probabilities(features, labels):
            warnings.warn(PROBABILITIES_AS_FEATURES, EigencleanWarning, stacklevel=2)
        return judge.judge(features, labels).flagged
    given = check_labels(as_vector(labels), by="find_label_issues")
    matched = read_probabilities(pred_probs).match(given)
    for notice in matched.notices:
        warnings.warn(notice, EigencleanWarning, stacklevel=2)
    evidence = Evidence(
        np.arange(len(given)), given, None if features is None else as_matrix(features), matched.values
    )
    judge, X = fit_to_evidence(judge, evidence)
    return judge.judge(X, given).flagged
