"""The selector that a detector's name stands for."""

from typing import Any

from eigenclean.train.selectors.area_under_margin import AreaUnderMargin
from eigenclean.train.selectors.base import Selector
from eigenclean.train.selectors.from_detector import FromDetector
from eigenclean.train.selectors.from_inputs import FromInputs
from eigenclean.train.selectors.growing import Growing

# FINE as in the paper's own runs: every class is split in two, since labels are known to be noisy. Inside
# semi-supervised methods its mixtures get ten rounds of EM.
_OPTIONS: dict[str, dict[str, Any]] = {"fine": {"cut.split": "always"}}
_SOFT_OPTIONS: dict[str, dict[str, Any]] = {"fine": {"cut.max_iter": 10}}


def make_selector(name: str, *, soft: bool = False, **own: Any) -> Selector:
    """That detector as training uses it; ``soft`` for steps that want to know how sure it is.

    ``own`` are further options of it.

    Training has what AUM is about: its margins are averaged over epochs there, not taken from a linear head. The
    judge believes features of a network that knows wrong labels by heart, so it looks at vectors themselves; FINE
    looks at what the network makes of them, as in the paper.

    >>> make_selector("fine")
    FromDetector(name='fine', options={'cut.split': 'always'}, learn_from='kept', soft=False)
    """
    if name == "aum":
        return AreaUnderMargin(soft=soft, **own)
    options = {**_OPTIONS.get(name, {}), **(_SOFT_OPTIONS.get(name, {}) if soft else {}), **own}
    if name == "topofilter":  # its graph is one of all samples
        return Growing(name, options, "all", soft)
    kind = FromInputs if name == "judge" else FromDetector
    return kind(name, options, "all" if soft else "kept", soft)
