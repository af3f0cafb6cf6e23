"""Decisions of people that the judge was told: how many, and what people wrote about samples."""

from collections.abc import Mapping
from typing import Any

from eigenclean.report.formatting import plain
from eigenclean.report.sections.base import ReportInput

MAX_NOTES = 50
_COUNTS = ("n", "confirmed", "corrected", "removed", "unmatched")


def decisions(inputs: ReportInput) -> dict[str, Any] | None:
    """Counts and notes; None when nobody decided anything. The record may be somebody else's."""
    facts = (inputs.run or {}).get("decisions")
    if not isinstance(facts, Mapping):
        return None
    listed = facts.get("notes")
    notes = [note for note in listed if isinstance(note, Mapping)] if isinstance(listed, list | tuple) else []
    return {
        **{key: facts[key] if type(facts.get(key)) is int else 0 for key in _COUNTS},
        "notes": [_note(note) for note in notes[:MAX_NOTES]],
        "n_hidden": max(len(notes) - MAX_NOTES, 0),
    }


def _note(note: Mapping[str, Any]) -> dict[str, Any]:
    old, new = plain(note.get("old", "")), plain(note.get("new", ""))
    is_relabelled = note.get("decision") == "relabel"
    return {
        "id": plain(note.get("id", "")),
        "decision": plain(note.get("decision", "")),
        "old": old,
        "new": new if is_relabelled else None,
        "reviewer": plain(note.get("reviewer", "")),
        "note": plain(note.get("note", ""), 500),
    }
