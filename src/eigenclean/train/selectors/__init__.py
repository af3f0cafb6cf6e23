"""Selectors choose the samples to train on. A new one is one file and one line in `SELECTORS`."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from eigenclean.detect import DETECTORS
from eigenclean.names import check_name
from eigenclean.train.component import check_fields
from eigenclean.train.selectors.area_under_margin import AreaUnderMargin
from eigenclean.train.selectors.averaged_losses import AveragedLosses
from eigenclean.train.selectors.base import BatchSelector, KeepAll, Memory, Selector
from eigenclean.train.selectors.crust import Crust
from eigenclean.train.selectors.disagreement import Disagreement
from eigenclean.train.selectors.from_detector import FromDetector, FromInputs
from eigenclean.train.selectors.growing import Growing
from eigenclean.train.selectors.persistent import Guided, Persistent
from eigenclean.train.selectors.sieve import Sieve
from eigenclean.train.selectors.smallest_losses import SmallestLosses
from eigenclean.train.selectors.two_losses import TwoLosses

SELECTORS: dict[str, type[Selector]] = {
    selector_class.kind: selector_class
    for selector_class in (
        KeepAll,
        FromDetector,
        FromInputs,
        SmallestLosses,
        Disagreement,
        Sieve,
        AveragedLosses,
        AreaUnderMargin,
        TwoLosses,
        Persistent,
        Guided,
        Growing,
        Crust,
    )
}

__all__ = [
    "SELECTORS",
    "AreaUnderMargin",
    "AveragedLosses",
    "BatchSelector",
    "Crust",
    "Disagreement",
    "FromDetector",
    "FromInputs",
    "Growing",
    "Guided",
    "KeepAll",
    "Memory",
    "Persistent",
    "Selector",
    "Sieve",
    "SmallestLosses",
    "TwoLosses",
    "make_selector",
    "selector_from_dict",
]


def make_selector(name: str, *, soft: bool = False, **options: Any) -> Selector:
    """The selector with which training uses the detector of that name.

    Usually this is `FromDetector`; a selector class whose ``default_for`` names the detector takes its place. The
    ``training_options`` of the detector are set unless ``options`` overrides them.

    Args:
        name: a name from `DETECTORS`.
        soft: for semi-supervised steps, which use the probability that a label is right.
        options: further options of the detector.

    >>> make_selector("fine")
    FromDetector(name='fine', options={'cut.split': 'always'}, learn_from='kept', soft=False)
    """
    check_name(name, DETECTORS, by="selector", what="detector")
    special = [selector for selector in SELECTORS.values() if name in selector.default_for]
    selector_class = special[0] if special else FromDetector
    return selector_class.for_detector(name, options, soft=soft)


def selector_from_dict(record: Mapping[str, Any]) -> Selector:
    """The selector that `Selector.to_dict` described.

    >>> selector_from_dict({"kind": "detector", "name": "fine"})
    FromDetector(name='fine', options={}, learn_from='kept', soft=False)
    """
    kind = record.get("kind") if isinstance(record, Mapping) else record
    check_name(kind, SELECTORS, by="selector", what="kind")
    selector_class = SELECTORS[str(kind)]
    allowed = ("kind", *(field.name for field in fields(selector_class)))
    options = check_fields(record, allowed, by=f"selector {kind}")
    del options["kind"]
    return selector_class(**options)
