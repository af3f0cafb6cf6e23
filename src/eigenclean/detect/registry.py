"""The table of detectors. A new detector is one file and one line here."""

from collections.abc import Mapping
from typing import Any

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
from eigenclean.detect.block_detector import BlockDetector
from eigenclean.detect.cuts import make_cut
from eigenclean.detect.fine.fine import FINE
from eigenclean.detect.fine.relative import FINERelative
from eigenclean.detect.judge.judge import Judge
from eigenclean.errors import InvalidOption
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


def detector(name: str | None = None, **options: Any) -> Detector:
    """The detector of that name with these options; None gives the default judge.

    >>> detector("fine", preset="paper")
    FINE(preset='paper')
    """
    name = DEFAULT if name is None else name
    if name == "cleanlab":
        raise InvalidOption("detector: the method of cleanlab is called 'confident' here: take that name")
    check_name(name, DETECTORS, by="detector", what="name")
    kind = DETECTORS[name]
    for option in options:
        check_name(option, kind().get_params(deep=False), by=f"detector {name}", what="option")
    return kind(**options)


def as_block_detector(judge: Detector) -> BlockDetector:
    """The same detector, if it can go through rows in blocks; otherwise `InvalidOption` names those that can.

    >>> as_block_detector(detector("knn"))
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: knn needs all rows at once and cannot stream them; use --engine memory,
    or a method whose statistics are sums over rows: judge, fine, fine-relative, mcd
    """
    judge.check_options()
    if not isinstance(judge, BlockDetector):
        able = [name for name, kind in DETECTORS.items() if issubclass(kind, BlockDetector)]
        raise InvalidOption(
            f"{judge.name} needs all rows at once and cannot stream them; use --engine memory, or a method "
            f"whose statistics are sums over rows: {', '.join(able)}"
        )
    return judge


def build_detector(name: str | None, options: Mapping[str, Any], *, seed: int | None = None) -> Detector:
    """The detector of that name; ``cut.x`` sets the option x of its cut, ``seed`` its random state if it has one.

    >>> build_detector("fine", {"cut": "beta", "cut.split": "always"}, seed=1)
    FINE(cut=BetaCut(split='always'), random_state=1)
    """
    detector_options = {key: value for key, value in options.items() if not key.startswith("cut.")}
    cut_options = {key.removeprefix("cut."): value for key, value in options.items() if key.startswith("cut.")}
    judge = detector(name, **detector_options)
    known = judge.get_params(deep=False)
    if cut_options:
        cut = make_cut(known["cut"])
        for option in cut_options:
            cut_name = detector_options.get("cut", known["cut"])
            check_name(option, cut.get_params(deep=False), by=f"cut {cut_name}", what="option")
        judge.set_params(cut=cut.set_params(**cut_options))
    if seed is not None and "random_state" in known and "random_state" not in detector_options:
        judge.set_params(random_state=seed)
    judge.check_options()
    return judge
