"""Several annotators: how much they agree, how good each is, and where their consensus is not the majority."""

from collections.abc import Mapping
from typing import Any

from eigenclean.report.formatting import plain
from eigenclean.report.sections.base import ReportInput, finite

MAX_ANNOTATORS = 100
MAX_CHANGED = 20


def annotators(inputs: ReportInput) -> dict[str, Any] | None:
    """The annotators worst first, and rows whose consensus differs from the majority, surest first.

    None without annotators. The record may be somebody else's, so that a part of it may be missing.
    """
    facts = inputs.made_by.get("annotators")
    if not isinstance(facts, Mapping):
        return None
    rows = [_annotator(row) for row in _mappings(facts.get("annotators"))[:MAX_ANNOTATORS]]
    counts = {key: int(finite(facts.get(key)) or 0) for key in ("n_annotators", "n_labels", "n_changed")}
    return {
        **counts,
        "n_wrong_labels": int(finite(facts.get("n_wrong_labels")) or 0),
        "alpha": finite(facts.get("krippendorff_alpha")),
        "rows": rows,
        "n_hidden": max(counts["n_annotators"] - len(rows), 0),
        "changed": [_changed(row) for row in _mappings(facts.get("changed"))[:MAX_CHANGED]],
    }


def _annotator(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": plain(row.get("annotator", "")),
        "n_labels": int(finite(row.get("n_labels")) or 0),
        "n_wrong": int(finite(row.get("n_wrong")) or 0),
        **{key: finite(row.get(key)) or 0.0 for key in ("quality", "quality_low", "quality_high")},
        "confusions": [
            {"right": plain(pair.get("right", "")), "given": plain(pair.get("given", ""))}
            for pair in _mappings(row.get("confusions"))
        ],
    }


def _changed(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": plain(row.get("id", "")),
        "majority": plain(row.get("majority", "")),
        "consensus": plain(row.get("consensus", "")),
        "confidence": finite(row.get("confidence")) or 0.0,
        "labels": [
            {"annotator": plain(label.get("annotator", "")), "label": plain(label.get("label", ""))}
            for label in _mappings(row.get("labels"))
        ],
    }


def _mappings(values: Any) -> list[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, list | tuple) else []
