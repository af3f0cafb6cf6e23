"""Detectors say which labels are probably wrong."""

from typing import Any

from eigenclean.arrays import Bools
from eigenclean.detect.base import Detector, plain_parameters
from eigenclean.detect.block_detector import BlockDetector
from eigenclean.detect.decisions import at_most_false_flags
from eigenclean.detect.fine.fine import FINE
from eigenclean.detect.registry import DEFAULT, DETECTORS, as_block_detector, build_detector, detector
from eigenclean.errors import MissingEvidence

__all__ = [
    "DEFAULT",
    "DETECTORS",
    "FINE",
    "BlockDetector",
    "Detector",
    "as_block_detector",
    "at_most_false_flags",
    "build_detector",
    "detector",
    "find_label_issues",
    "plain_parameters",
]


def find_label_issues(labels: Any, features: Any = None, *, method: str | None = None, **options: Any) -> Bools:
    """A mask over the samples: True where the label is probably wrong.

    Args:
        labels: one label per sample, integers or strings.
        features: n x d, array or dataframe.
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
    if features is None:
        raise MissingEvidence(f"find_label_issues: {judge.name} needs {judge.consumes}, but only labels were given")
    return judge.judge(features, labels).flagged
