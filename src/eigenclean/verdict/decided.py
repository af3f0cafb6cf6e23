"""The rows that people had decided about when the labels were judged, as the summary of a run lists them."""

from typing import Any

import numpy as np

from eigenclean.arrays import Bools
from eigenclean.verdict.record import Verdict


def decided_rows(verdict: Verdict, facts: Any) -> Bools:
    """A mask of the rows whose ids the entry ``decisions`` of a summary lists; ``facts`` may be anything.

    >>> verdict = Verdict(
    ...     ids=np.array(["a", "b"]), labels=np.zeros(2, int), score=np.zeros(2), p_clean=np.ones(2),
    ...     flagged=np.zeros(2, bool), suggested=np.zeros(2, int), suggested_confidence=np.ones(2),
    ... )
    >>> decided_rows(verdict, {"n": 1, "ids": ["b"]}), decided_rows(verdict, None)
    (array([False,  True]), array([False, False]))
    """
    ids = facts.get("ids") if isinstance(facts, dict) else None
    known = [str(id) for id in ids] if isinstance(ids, list) else []
    return np.isin(verdict.ids.astype(np.str_), known) if known else np.zeros(len(verdict), dtype=bool)
