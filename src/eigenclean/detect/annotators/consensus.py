"""From the labels of several annotators to one verdict: the consensus, and the quality of each of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Float64s, check_two_classes
from eigenclean.detect.annotators.agreement import krippendorff_alpha
from eigenclean.detect.annotators.model import AnnotatorModel, probability
from eigenclean.detect.annotators.quality import AnnotatorQuality
from eigenclean.detect.base import Detector, plain_parameters
from eigenclean.detect.decisions import Decision
from eigenclean.detect.judge.class_probabilities import class_probabilities
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.predictions import fit_to_evidence
from eigenclean.detect.registry import detector as default_detector
from eigenclean.errors import InvalidOption, MissingEvidence
from eigenclean.evidence import Annotations, Evidence
from eigenclean.verdict import Verdict

WITHOUT_FEATURES = "dawid-skene"  # the method of a verdict from labels alone
MAX_LISTED = 200  # annotators that a summary lists
MAX_SHOWN = 20  # rows whose labels are listed with who gave them


@dataclass(frozen=True, eq=False)
class Consensus:
    """The result of combining the labels of several annotators.

    Attributes:
        verdict: on the majority's labels, with the consensus beside them.
        model: the fitted noise model.
        quality: of each annotator, and of each of their labels.
        alpha: Krippendorff's alpha; None where it is not defined.
        class_probabilities: P(y | x) by the judge, n x K; None without features and probabilities.
    """

    verdict: Verdict
    model: AnnotatorModel
    quality: AnnotatorQuality
    alpha: float | None
    class_probabilities: Float64s | None = None


def judge_annotations(
    evidence: Evidence, detector: Detector | None = None, decision: Decision | None = None
) -> Consensus:
    """The consensus of several annotators, from their labels and, where there are any, features or probabilities.

    Args:
        evidence: with annotations. Its labels are not used: the majority's are judged.
        detector: the judge that gives P(y | x) where there are features or probabilities; None for the default.
        decision: which of the majority's labels are flagged; None for the threshold of the detector.

    >>> labels = [["a", "a", "b"], ["b", "b", "b"], ["a", "a", "a"], ["b", "a", "b"]] * 5
    >>> evidence = Evidence(np.arange(20), np.zeros(20), annotations=Annotations.from_matrix(labels))
    >>> consensus = judge_annotations(evidence)
    >>> consensus.verdict.consensus_label[:4]
    array(['a', 'b', 'a', 'b'], dtype='<U1')
    """
    annotations = evidence.annotations
    if annotations is None:
        raise MissingEvidence("judge_annotations needs annotations, but only labels were given")
    notes = annotations.check(by="annotators")
    check_two_classes(annotations.classes, by="annotators")
    judge = default_detector() if detector is None else detector
    fitted, probabilities = _class_probabilities(judge, evidence, annotations)
    model = AnnotatorModel.fit(annotations, probabilities)
    quality = AnnotatorQuality.of(model)
    codes = annotations.majority_codes
    scores = model.log_odds(codes)
    p = probability(scores)
    rule = Decision(threshold=judge.threshold) if decision is None else decision
    flagged = rule.flags(p, scores)
    rows = np.flatnonzero(flagged)
    posterior = model.posterior
    best = posterior.argmax(axis=1)
    alpha = krippendorff_alpha(annotations)
    record = rule.record(p, flagged)
    made_by: dict[str, Any] = {
        **_origin(fitted),
        "threshold": record["threshold"],
        "decision": record,
        "notes": notes,
        "annotators": _facts(annotations, quality, alpha, codes, best, posterior, evidence.ids),
    }
    verdict = Verdict.assemble(
        ids=evidence.ids,
        classes=annotations.classes,
        codes=codes,
        score=scores,
        p_clean=p,
        flagged=flagged,
        suggestions=model.suggest(codes, rows) if len(rows) else None,
        made_by=made_by,
        consensus=(best, posterior[np.arange(len(best)), best]),
    )
    return Consensus(verdict, model, quality, alpha, probabilities)


def _class_probabilities(
    judge: Detector, evidence: Evidence, annotations: Annotations
) -> tuple[Judge | None, Float64s | None]:
    """The judge fitted to the majority's labels, and P(y | x) for all classes of the annotations."""
    if evidence.features is None and evidence.probabilities is None:
        return None, None
    if not isinstance(judge, Judge):
        raise InvalidOption(
            f"several annotators are judged by the default method, not by {judge.name}: leave out --method"
        )
    labels = annotations.majority
    fitted, X = fit_to_evidence(judge, evidence)
    assert isinstance(fitted, Judge)
    known = class_probabilities(fitted.fit(X, labels, groups=evidence.groups), X, labels)
    probabilities = np.zeros((len(labels), len(annotations.classes)))
    probabilities[:, np.searchsorted(annotations.classes, fitted.classes_)] = known
    return fitted, probabilities


def _origin(judge: Judge | None) -> dict[str, Any]:
    if judge is None:
        return {"method": WITHOUT_FEATURES, "parameters": {}}
    views = {name: round(weight, 4) for name, weight in judge.view_weights_.items()}
    return {"method": judge.name, "parameters": plain_parameters(judge), "views": views, "rounds": judge.n_rounds_}


def _facts(
    annotations: Annotations,
    quality: AnnotatorQuality,
    alpha: float | None,
    majority: Array,
    best: Array,
    posterior: Float64s,
    ids: Array,
) -> Mapping[str, Any]:
    """The entry ``annotators`` of the verdict's record, as plain values."""
    classes = annotations.classes.tolist()
    differs = np.flatnonzero(best != majority)
    surest = differs[np.argsort(-posterior[differs, best[differs]], kind="stable")][:MAX_SHOWN]
    starts = np.searchsorted(annotations.rows, np.arange(annotations.n_rows + 1))  # labels are sorted by row
    changed = [
        {
            "id": ids[row].item(),
            "majority": classes[majority[row]],
            "consensus": classes[best[row]],
            "confidence": float(posterior[row, best[row]]),
            "labels": [
                {
                    "annotator": str(annotations.names[annotations.annotators[i]]),
                    "label": classes[annotations.codes[i]],
                }
                for i in range(starts[row], starts[row + 1])
            ],
        }
        for row in surest.tolist()
    ]
    return {
        "n_annotators": len(annotations.names),
        "n_labels": len(annotations.rows),
        "n_rows_with_several": int(np.count_nonzero(annotations.per_row > 1)),
        "krippendorff_alpha": alpha,
        "n_wrong_labels": int(np.count_nonzero(quality.looks_wrong)),
        "n_changed": len(differs),
        "mean_confidence": float(posterior.max(axis=1).mean()),
        "annotators": quality.records(MAX_LISTED),
        "changed": changed,
    }
