"""Selectors say what a network may learn from. A new one is one file and one line in `SELECTORS`."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from eigenclean.names import check_name
from eigenclean.train.component import checked
from eigenclean.train.selectors.area_under_margin import AreaUnderMargin
from eigenclean.train.selectors.averaged_losses import AveragedLosses
from eigenclean.train.selectors.base import BatchSelector, Memory, Selector
from eigenclean.train.selectors.crust import Crust
from eigenclean.train.selectors.disagreement import Disagreement
from eigenclean.train.selectors.for_detector import make_selector
from eigenclean.train.selectors.from_detector import FromDetector
from eigenclean.train.selectors.from_inputs import FromInputs
from eigenclean.train.selectors.growing import Growing
from eigenclean.train.selectors.keep_all import KeepAll
from eigenclean.train.selectors.persistent import Guided, Persistent
from eigenclean.train.selectors.smallest_losses import SmallestLosses
from eigenclean.train.selectors.two_losses import TwoLosses

SELECTORS: dict[str, type[Selector]] = {
    kind.kind: kind
    for kind in (
        KeepAll,
        FromDetector,
        FromInputs,
        SmallestLosses,
        Disagreement,
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
    "SmallestLosses",
    "TwoLosses",
    "make_selector",
    "selector_from_dict",
]


def selector_from_dict(record: Mapping[str, Any]) -> Selector:
    """The selector that `Selector.to_dict` described.

    >>> selector_from_dict({"kind": "detector", "name": "fine"})
    FromDetector(name='fine', options={}, learn_from='kept', soft=False)
    """
    kind = record.get("kind") if isinstance(record, Mapping) else record
    check_name(kind, SELECTORS, by="selector", what="kind")
    made = SELECTORS[str(kind)]
    options = checked(record, ("kind", *(field.name for field in fields(made))), by=f"selector {kind}")
    del options["kind"]
    return made(**options)
