"""A detector from names and plain values, as a command line or a file of settings gives them."""

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
    own = {key: value for key, value in options.items() if not key.startswith("cut.")}
    of_cut = {key.removeprefix("cut."): value for key, value in options.items() if key.startswith("cut.")}
    made = detector(name, **own)
    known = made.get_params(deep=False)
    if of_cut:
        cut = make_cut(known["cut"])
        for option in of_cut:
            check_name(option, cut.get_params(deep=False), by=f"cut {own.get('cut', known['cut'])}", what="option")
        made.set_params(cut=cut.set_params(**of_cut))
    if seed is not None and "random_state" in known and "random_state" not in own:
        made.set_params(random_state=seed)
    made.check_options()
    return made
