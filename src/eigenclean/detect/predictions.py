"""Predicted probabilities as evidence: which copy of a detector uses them, and the X that it takes."""

from dataclasses import replace
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Float64s, check_table, working_dtype
from eigenclean.detect.base import Detector
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.sources import as_matrix, as_vector
from eigenclean.sources.predictions.matching import MAX_DEVIATION

PROBABILITIES_AS_FEATURES = (
    "find_label_issues: the features look like probabilities of the classes; if they are, give them as pred_probs="
)
_SMALLEST = 1e-12  # probabilities below it are rounded zeros, whose logarithms would be infinite


def fit_to_evidence(detector: Detector, evidence: Evidence) -> tuple[Detector, Array]:
    """The detector, or a copy that uses the predicted probabilities too, and the X that it takes.

    >>> from eigenclean.detect.registry import detector
    >>> evidence = Evidence(np.arange(2), np.array([0, 1]), probabilities=np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> fit_to_evidence(detector("judge"), evidence)[0]
    Judge(views='probabilities')
    >>> fit_to_evidence(detector("fine"), evidence)
    Traceback (most recent call last):
        ...
    eigenclean.errors.MissingEvidence: fine needs features, but only probabilities were given
    """
    probabilities = evidence.probabilities
    if probabilities is None:
        return detector, evidence.need(detector.consumes, by=detector.name)
    adapted = detector.with_probabilities(evidence.features is not None)
    if adapted is None:
        if evidence.features is None:
            evidence.need(detector.consumes, by=detector.name)
        raise InvalidOption(
            f"{detector.name} does not use predicted probabilities: leave them out, or take another method"
        )
    if adapted.consumes == "features":
        features = evidence.need("features", by=detector.name)
        check_table(features, by=detector.name)
        return adapted, _side_by_side(features, probabilities)
    logits = np.log(np.maximum(probabilities, _SMALLEST))
    return adapted, replace(evidence, logits=logits).need(adapted.consumes, by=detector.name)


def _side_by_side(features: Array, probabilities: Float64s) -> Array:
    dtype = working_dtype(features.dtype)
    return np.concatenate([features.astype(dtype, copy=False), probabilities.astype(dtype)], axis=1)


def are_probabilities(features: Any, labels: Any) -> bool:
    """Whether features look like probabilities of the classes, as cleanlab takes them in this place.

    >>> are_probabilities([[0.9, 0.1], [0.2, 0.8]], ["cat", "dog"]), are_probabilities([[1, 2], [3, 4]], [0, 1])
    (True, False)
    """
    rows = as_matrix(features)
    if rows.ndim != 2 or rows.dtype.kind != "f" or len(rows) == 0 or not 2 <= rows.shape[1] <= len(rows):
        return False
    if (rows < 0).any() or not (np.abs(rows.sum(axis=1) - 1.0) <= MAX_DEVIATION).all():
        return False
    return len({*np.ravel(as_vector(labels)).tolist()}) == int(rows.shape[1])
