"""Build a detector from names and plain values, as a command line or a file of settings gives them."""

from collections.abc import Mapping
from typing import Any

from eigenclean.detect.base import Detector
from eigenclean.detect.cuts import make_cut
from eigenclean.detect.registry import detector
from eigenclean.names import check_name


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
