"""Answers that people gave in Label Studio or Argilla to exported suspects, as a patch."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.errors import InvalidData
from eigenclean.patch import KEEP, RELABEL, UNSURE, Patch
from eigenclean.sources.annotation_exports import Answer, answered_ids, is_annotation_export, read_answers
from eigenclean.sources.tabular.json_records import JsonTable
from eigenclean.verdict import Verdict


def patch_from_answers(path: Path, verdict: Verdict, data_hash: str, *, question: str | None = None) -> Patch:
    """What people decided about samples of a verdict that `eigenclean export` wrote for their tool.

    The answer that most people gave counts: the given label is kept, another one replaces it. Where as many people
    say one thing as another, the decision is "unsure". Tasks that nobody answered are not in the patch.

    Args:
        path: the JSON export of Label Studio, or the records of Argilla.
        verdict: what was exported.
        data_hash: of the data that were judged.
        question: the name of the choices or of the question; needed only where there are several.
    """
    table = JsonTable(path, name=str(path))
    if not is_annotation_export(table):
        raise InvalidData(
            f"{path} is no JSON export of Label Studio and no list of Argilla records with answers; "
            "in Label Studio choose the format JSON, not JSON-MIN"
        )
    answers: dict[int, list[Answer]] = defaultdict(list)
    for answer in read_answers(table, question):
        answers[answer.row].append(answer)
    ids = answered_ids(table)
    rows = _rows_by_id(verdict, [ids[row] for row in answers], str(path))
    names = {str(label): label for label in np.unique([verdict.labels, verdict.suggested]).tolist()}
    labels = verdict.labels.tolist()
    records = [
        {
            "id": verdict.ids[row].item(),
            "old": labels[row],
            "score": float(verdict.p_clean[row]),
            "reviewer": ", ".join(dict.fromkeys(answer.annotator for answer in given)),
            "data_hash": data_hash,
            **_decision(given, labels[row], names, str(path)),
        }
        for row, given in zip(rows, answers.values(), strict=True)
    ]
    return Patch.from_records(records, by=str(path))


def _decision(answers: list[Answer], old: Any, names: dict[str, Any], by: str) -> dict[str, Any]:
    """The decision of the majority, and the new label."""
    counts = Counter(str(answer.label) for answer in answers).most_common()
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        return {"decision": UNSURE}
    answer = counts[0][0]
    if answer not in names and not isinstance(old, str):
        raise InvalidData(f"{by}: the answer {answer!r} is none of the labels, which are numbers; add its number")
    label = names.get(answer, answer)
    return {"decision": KEEP} if label == old else {"decision": RELABEL, "new": label}


def _rows_by_id(verdict: Verdict, ids: list[str], by: str) -> list[int]:
    """Row numbers of these ids in the verdict; tools turn ids into text."""
    known = {str(id): row for row, id in enumerate(verdict.ids.tolist())}
    missing = [id for id in ids if id not in known]
    if missing:
        raise InvalidData(
            f"{by} has {len(missing)} answered tasks whose ids are not in the run, such as {missing[0]!r}; "
            "was it exported from another run?"
        )
    if len(set(ids)) < len(ids):
        double = next(id for id, count in Counter(ids).items() if count > 1)
        raise InvalidData(f"{by} has several tasks with the id {double!r}; were they imported twice?")
    return [known[id] for id in ids]
