"""A patch that accepts suggestions of a verdict, for a person to look at and apply."""

from datetime import UTC, datetime
from typing import Any

import numpy as np

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.patch import RELABEL, REMOVE, Patch
from eigenclean.review.run import reviewer_name
from eigenclean.verdict import Verdict

_REASON = "suggestion accepted without a look at the sample"


def propose_patch(
    verdict: Verdict,
    data_hash: str,
    min_confidence: float,
    *,
    decided: Patch | None = None,
    reviewer: str | None = None,
) -> Patch:
    """Accept every suggestion about a flagged sample that has at least this confidence; what people decided stays.

    A sample is relabelled, or removed where P(none), the probability that it belongs to no class, is that high.

    >>> verdict = Verdict(
    ...     ids=np.arange(3), labels=np.array([0, 0, 1]), score=np.array([0.9, 0.2, 0.8]),
    ...     p_clean=np.array([0.99, 0.03, 0.95]), flagged=np.array([False, True, False]),
    ...     suggested=np.array([0, 1, 1]), suggested_confidence=np.array([0.99, 0.9, 0.95]),
    ... )
    >>> propose_patch(verdict, "0a1b", 0.8)
    Patch of 1 decision: 1 relabel
    """
    number = isinstance(min_confidence, int | float) and not isinstance(min_confidence, bool)
    if not number or not 0 < min_confidence <= 1:
        raise InvalidOption(f"patch: accept must be a confidence above 0 and up to 1, got {min_confidence!r}")
    removed = np.zeros(len(verdict), dtype=bool)
    if verdict.none_probability is not None:
        removed = (verdict.suggested_action == REMOVE) & (verdict.none_probability >= min_confidence)
    relabelled = np.asarray(verdict.flagged) & (np.asarray(verdict.suggested_confidence) >= min_confidence)
    accepted = removed | (relabelled & np.asarray(verdict.suggested != verdict.labels))
    if decided is not None:
        accepted &= ~np.isin(verdict.ids, decided.ids)
    rows = verdict.suspects()
    rows = rows[accepted[rows]]
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    common: dict[str, Any] = {"reviewer": reviewer_name(reviewer), "time": now}
    records = [] if decided is None else decided.to_records()
    for row in rows.tolist():
        entry = {
            "id": verdict.ids[row].item(),
            "old": verdict.labels[row].item(),
            "decision": REMOVE if removed[row] else RELABEL,
            "new": None if removed[row] else verdict.suggested[row].item(),
            "score": float(verdict.p_clean[row]),
            "reason": _REASON,
            "data_hash": data_hash,
        }
        records.append({**entry, **common})
    if not records:
        raise InvalidData(
            f"patch: no suggestion has a confidence of {min_confidence:g} or more, so there is no patch"
        )
    return Patch.from_records(records)
