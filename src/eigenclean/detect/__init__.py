"""Detectors say which labels are probably wrong. A new one is one file and one line in `DETECTORS`."""

from typing import Any

from eigenclean.arrays import Bools
from eigenclean.detect.base import Detector
from eigenclean.detect.baselines.aum import AUM
from eigenclean.detect.baselines.confident import ConfidentLearning
from eigenclean.detect.baselines.cores2 import CORES2
from eigenclean.detect.baselines.crust import CRUST
from eigenclean.detect.baselines.knn import KNN
from eigenclean.detect.baselines.mcd import MCD
from eigenclean.detect.baselines.simifeat import SimiFeat
from eigenclean.detect.baselines.small_loss import SmallLoss
from eigenclean.detect.baselines.topofilter import TopoFilter
from eigenclean.detect.baselines.vote import Vote
from eigenclean.detect.fine.fine import FINE
from eigenclean.detect.fine.relative import FINERelative
from eigenclean.detect.judge.judge import Judge
from eigenclean.errors import MissingEvidence
from eigenclean.names import check_name

DETECTORS: dict[str, type[Detector]] = {
    "judge": Judge,
    "fine": FINE,
    "fine-relative": FINERelative,
    "knn": KNN,
    "mcd": MCD,
    "simifeat": SimiFeat,
    "topofilter": TopoFilter,
    "small-loss": SmallLoss,
    "aum": AUM,
    "cores2": CORES2,
    "crust": CRUST,
    "confident": ConfidentLearning,
    "vote": Vote,
}
DEFAULT = "judge"

__all__ = ["DEFAULT", "DETECTORS", "FINE", "Detector", "detector", "find_label_issues"]


def detector(name: str | None = None, **options: Any) -> Detector:
    """The detector of that name with these options; None gives the default judge.

    >>> detector("fine", preset="paper")
    FINE(preset='paper')
    """
    name = DEFAULT if name is None else name
    check_name(name, DETECTORS, by="detector", what="name")
    kind = DETECTORS[name]
    for option in options:
        check_name(option, kind().get_params(deep=False), by=f"detector {name}", what="option")
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
