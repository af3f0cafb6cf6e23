"""Judge a run again with what people decided since: what `eigenclean detect` does with the same data and folder."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eigenclean.detect.decisions import Decision
from eigenclean.detect.judge.judge import Judge
from eigenclean.detect.registry import build_detector
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.features import EmbeddedSource
from eigenclean.report import results_folder
from eigenclean.report.run_folder import REPORT
from eigenclean.review import Review
from eigenclean.sources import Source
from eigenclean.verdict import CSV
from eigenclean.workflows.check import run_summary
from eigenclean.workflows.detect import Detection, OutputOptions
from eigenclean.workflows.detection.carried import carried_groups, decision_files, group_files
from eigenclean.workflows.detection.decisions import known_decisions
from eigenclean.workflows.detection.groups import rows_of_groups
from eigenclean.workflows.engines import Job, judge_in_memory
from eigenclean.workflows.options import ignore

# What only the command line that made the run can give again.
_NEEDS_COMMAND = {
    "pred_probs": "probabilities of a model",
    "annotators": "labels by several annotators",
    "self_test": "a self-test",
    "auto": "--method auto",
    "engine": "rows that were not all in memory",
}
_KEPT = ("source", "embedding", "features", "skipped_links")  # entries of a summary that stay true


def judge_again(review: Review) -> None:
    """Judge the data of an opened run with its decisions; the files of the run are replaced as one.

    The decisions stay where they are, and groups and decisions that the run was given stay with it. The run may be
    somebody else's: its data are those that `Review.open` has opened already, and parameters
    are checked as those of a command line.
    """
    summary = run_summary(review.folder)
    data, detector, decision = _data(review), _detector(summary), _decision(summary)
    notes: list[str] = []
    known = known_decisions(None, review.folder, data, notify=notes.append)
    if known is None:
        raise InvalidData(notes[0] if notes else "nothing was decided about these data yet")
    groups = carried_groups(review.folder, data)
    if groups is None:  # a run of an earlier version
        groups = rows_of_groups(None, data, notify=ignore)
    output = OutputOptions(csv=(review.folder / CSV).exists(), report=(review.folder / REPORT).exists())
    raw = data.raw if isinstance(data, EmbeddedSource) else data
    with results_folder(review.folder) as folder:
        job = Job(data, [detector], decision, folder, share=0.0, groups=groups, verified=known.verified)
        with judge_in_memory(job) as judged:
            assert isinstance(judged.verdict.made_by, Mapping)
            carried_over = {key: summary[key] for key in _KEPT if key in summary}
            facts = {"decision": judged.verdict.made_by["decision"], **carried_over, **judged.facts}
            files = {**group_files(groups, data), **decision_files(known.carried, data)}
            carrying = replace(judged, files={**judged.files, **files})
            Detection(data, carrying, facts, raw.encoding).publish(folder, output)


def _data(review: Review) -> Source:
    if review.data is None:
        raise InvalidData(review.notes[0].rstrip(".") if review.notes else "the data cannot be opened")
    if review.data.data_hash() != review.data_hash:
        raise InvalidData(f"{review.name} is not what was judged; run `eigenclean detect` again")
    return review.data


def _detector(summary: Mapping[str, Any]) -> Judge:
    for key, what in _NEEDS_COMMAND.items():
        if summary.get(key):
            raise InvalidOption(f"the run was made with {what}: repeat its `eigenclean detect` with the same --out")
    parameters = summary.get("parameters")
    if summary.get("method") != Judge.name or not isinstance(parameters, Mapping):
        raise InvalidOption(f"the default method learns from decisions, not {summary.get('method')}")
    detector = build_detector(Judge.name, dict(parameters), seed=0)
    assert isinstance(detector, Judge)
    return detector


def _decision(summary: Mapping[str, Any]) -> Decision | None:
    record = summary.get("decision")
    if not isinstance(record, Mapping):
        return None
    if record.get("rule") not in ("threshold", "max_false_flags", "budget"):
        raise InvalidData("the run does not say which labels are flagged; run `eigenclean detect` again")
    return Decision(**{str(record["rule"]): record.get("value")})
