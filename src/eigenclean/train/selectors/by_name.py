"""The selector that a detector's name stands for."""

from typing import Any

from eigenclean.train.selectors.from_detector import FromDetector

# FINE as in the paper's own runs: every class is split in two, since labels are known to be noisy. Inside
# semi-supervised methods its mixtures get ten rounds of EM.
_OPTIONS: dict[str, dict[str, Any]] = {"fine": {"cut.split": "always"}}
_SOFT_OPTIONS: dict[str, dict[str, Any]] = {"fine": {"cut.max_iter": 10}}
_FROM_ALL = ("topofilter",)  # its graph is one of all samples


def by_name(name: str, *, soft: bool = False) -> FromDetector:
    """That detector as training uses it; ``soft`` for steps that want to know how sure it is.

    >>> by_name("fine")
    FromDetector(name='fine', options={'cut.split': 'always'}, learn_from='kept', soft=False)
    """
    options = {**_OPTIONS.get(name, {}), **(_SOFT_OPTIONS.get(name, {}) if soft else {})}
    return FromDetector(name, options, "all" if soft or name in _FROM_ALL else "kept", soft)
