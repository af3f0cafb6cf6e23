"""Detectors say which labels are probably wrong. A new one is one file and one line in `DETECTORS`."""

from difflib import get_close_matches
from typing import Any

from eigenclean.arrays import Bools
from eigenclean.detect.base import Detector
from eigenclean.detect.fine import FINE
from eigenclean.errors import InvalidOption, MissingEvidence

DETECTORS: dict[str, type[Detector]] = {
    "fine": FINE,
}
DEFAULT = "fine"

__all__ = ["DEFAULT", "DETECTORS", "FINE", "Detector", "detector", "find_label_issues"]


def detector(name: str | None = None, **options: Any) -> Detector:
    """The detector of that name with these options; None gives the default judge.

    >>> detector("fine", preset="paper")
    FINE(preset='paper')
    """
    name = DEFAULT if name is None else name
    if name not in DETECTORS:
        close = get_close_matches(name, DETECTORS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(DETECTORS)}"
        raise InvalidOption(f"there is no detector {name!r}; {hint}")
    kind = DETECTORS[name]
    allowed = list(kind().get_params(deep=False))
    for option in options:
        if option not in allowed:
            close = get_close_matches(option, allowed, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(allowed)}"
            raise InvalidOption(f"detector {name!r} has no option {option!r}; {hint}")
    return kind(**options)


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
        raise MissingEvidence(f"find_label_issues: {judge.name} needs features, but only labels were given")
    return judge.judge(features, labels).flagged
