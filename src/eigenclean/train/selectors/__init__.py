"""Selectors say what a network may learn from. A new one is one file and one line in `SELECTORS`."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from eigenclean.names import check_name
from eigenclean.train.part import checked
from eigenclean.train.selectors.base import Selector
from eigenclean.train.selectors.from_detector import FromDetector
from eigenclean.train.selectors.keep_all import KeepAll

SELECTORS: dict[str, type[Selector]] = {kind.kind: kind for kind in (KeepAll, FromDetector)}

__all__ = ["SELECTORS", "FromDetector", "KeepAll", "Selector", "selector_from_dict"]


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
