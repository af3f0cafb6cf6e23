"""Judging with labels that people have verified: they are known to the noise model and are not suspects again.

Rows that people looked at are no random sample: they had the lowest P(right). But what chose them is known to the
model, the features and the given label, so that the likelihood of given labels and decisions together needs no
weights for it (missing at random; Rubin, 1976).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from eigenclean.arrays import check_ids
from eigenclean.detect.base import Detector
from eigenclean.detect.decisions import Decision
from eigenclean.detect.judge.judge import Judge
from eigenclean.errors import InvalidOption
from eigenclean.evidence import VerifiedLabels
from eigenclean.sources import as_vector
from eigenclean.verdict import Verdict

_SURE = 50.0  # log-odds of labels that people know to be right or wrong


def judge_verified(
    judge: Detector,
    X: Any,
    y: Any,
    verified: VerifiedLabels,
    *,
    ids: Any = None,
    decision: Decision | None = None,
    groups: Any = None,
) -> Verdict:
    """Fit the judge to these rows, and judge those that nobody has decided about.

    A confirmed label has P(right) = 1, a corrected one that is still given has 0, and the suggestion is the label
    of the people. It may be one that no row has yet: such a row belongs to none of the classes that are learned.
    None of the rows that people decided about is flagged, be it that they were unsure.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> given = np.where(np.arange(len(y)) % 25 == 0, (y + 1) % 3, y)  # 6 labels are wrong
    >>> verified = VerifiedLabels.match(np.arange(len(y)), given, [(0, "relabel", 1, 0), (25, "relabel", 1, 0)])
    >>> judge_verified(Judge(), X, given, verified).flagged[[0, 25, 50, 75]].tolist()
    [False, False, True, True]
    """
    if not isinstance(judge, Judge):
        raise InvalidOption(f"the default method learns from decisions, not {judge.name}")
    weight = None
    is_other = verified.is_removed | (verified.is_known & ~np.isin(verified.labels, as_vector(y)))
    if is_other.any():
        weight = np.where(is_other, 0.0, 1.0)
    with judge._knowing(groups, verified):
        features, codes, scores = judge._fit_scores(X, y, weight)
    judge._fit_cut(scores, codes)
    known = verified.is_known
    right = verified.labels == judge.classes_[codes]
    scores = np.where(known, np.where(right, _SURE, -_SURE), scores)
    result = judge.apply_decision(scores, codes, decision)
    p = np.where(known, right.astype(np.float64), result.p_clean)
    rule = Decision(threshold=judge.threshold) if decision is None else decision
    open_rows = np.flatnonzero(~verified.is_decided)
    flagged = np.zeros(len(codes), dtype=bool)
    flagged[open_rows] = rule.flags(p[open_rows], scores[open_rows])
    rows = np.flatnonzero(flagged)
    p_none = judge._none_probability(features, codes)
    record = rule.record(p, flagged)
    verdict = Verdict.assemble(
        ids=check_ids(None if ids is None else as_vector(ids), len(codes), by="Judge"),
        classes=judge.classes_,
        codes=codes,
        score=scores,
        p_clean=p,
        flagged=flagged,
        suggestions=judge._suggest(features, codes, rows, result.cut) if len(rows) else None,
        made_by={**result.made_by, "threshold": record["threshold"], "decision": record},
        p_none=None if p_none is None else np.where(verified.is_decided, 0.0, p_none),
    )
    return replace(
        verdict,
        suggested=np.where(known, verified.labels, verdict.suggested),
        suggested_confidence=np.where(known, 1.0, verdict.suggested_confidence),
    )
