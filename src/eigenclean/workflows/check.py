"""`eigenclean check`: run the gate on data, or on the verdict of an earlier run."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Bools
from eigenclean.detect import Detector
from eigenclean.detect.decisions import Decision
from eigenclean.errors import InvalidData
from eigenclean.files import parse_json
from eigenclean.patch import KEEP, RELABEL, REMOVE, Patch
from eigenclean.publication import finish_publication, read_together
from eigenclean.report.run_folder import REPORT
from eigenclean.verdict import FILE, SUMMARY, Verdict
from eigenclean.workflows.embedding import EmbeddingOptions, embed
from eigenclean.workflows.gate import Gate
from eigenclean.workflows.options import Notify, PatchFile, SourceOptions, ignore


@dataclass(frozen=True)
class CheckRequest:
    """How sources are checked.

    Attributes:
        max_noise: the largest share of wrong labels that passes.
        detector: judges data that have no verdict yet.
        decision: which labels are named; None for the detector's own threshold.
        patch: what people decided about the labels.
        reading: how sources are opened.
        embedding: how images and texts become features.
    """

    max_noise: float
    detector: Detector | None = None
    decision: Decision | None = None
    patch: PatchFile | None = None
    reading: SourceOptions = field(default_factory=SourceOptions)
    embedding: EmbeddingOptions = field(default_factory=EmbeddingOptions)


def run_folder(path: str | Path) -> Path:
    """The folder of a run, of which the path may name a file: verdict, summary or report."""
    named = Path(path)
    return named.parent if named.name in (FILE, SUMMARY, REPORT) and (named.parent / SUMMARY).exists() else named


def is_run(path: str | Path) -> bool:
    """Whether the path is a folder with a verdict, or a file of one: then nothing is judged again."""
    folder = run_folder(path)
    finish_publication(folder)
    return folder.is_dir() and (folder / FILE).exists()


def run_summary(path: str | Path) -> dict[str, Any]:
    """The summary of a run; empty when it cannot be read."""
    try:
        summary = parse_json((run_folder(path) / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return summary if isinstance(summary, dict) else {}


def check_run(run: Path, request: CheckRequest) -> Gate:
    """Check the verdict in a folder that `eigenclean detect` wrote."""
    verdict, data_hash = read_together(run, [FILE, SUMMARY], lambda: (Verdict.load(run), _data_hash(run)))
    settled = removed = None
    if request.patch is not None:
        settled, removed = _decided_rows(verdict, run, data_hash, request.patch)
    rule = request.decision
    flagged = None if rule is None else rule.flags(verdict.p_clean, verdict.score)
    return Gate.of(verdict, str(run), request.max_noise, settled=settled, removed=removed, flagged=flagged)


def check_source(source: str, request: CheckRequest, *, notify: Notify = ignore) -> Gate:
    """Judge a source and check the verdict; nothing is written."""
    assert request.detector is not None
    data = request.reading.open(source, raw=request.embedding.encoder is not None, notify=notify)
    settled = removed = None
    if request.patch is not None:
        decisions = request.patch.decisions(data)
        data = data.relabelled(decisions.labels)
        settled, removed = decisions.verified, decisions.removed
    if request.embedding.needed_for(data):
        data = embedded = embed(data, request.embedding, notify=notify)
        if settled is not None and removed is not None:  # rows that cannot be read have no features
            settled, removed = settled[embedded.rows], removed[embedded.rows]
    features = data.features()
    verdict = request.detector.fit_judge(features, data.labels, ids=data.ids, decision=request.decision)
    return Gate.of(verdict, source, request.max_noise, settled=settled, removed=removed)


def _data_hash(run: Path) -> str | None:
    """The hash of the data in the summary of the run; None when there is none, or it cannot be read."""
    data_hash = run_summary(run).get("data_hash")
    return None if data_hash is None else str(data_hash)


def _decided_rows(verdict: Verdict, run: Path, data_hash: str | None, options: PatchFile) -> tuple[Bools, Bools]:
    """Which rows of the run people have settled, and which they have removed."""
    patch = Patch.load(options.path)
    if not options.by_id and data_hash != patch.data_hash:
        raise InvalidData(
            f"{run} is not about the data that {options.path} was made for (data hash {data_hash}, expected "
            f"{patch.data_hash}); if equal ids are enough, add --by-id"
        )
    unknown = patch.ids[~np.isin(patch.ids, verdict.ids)]
    if len(unknown):
        raise InvalidData(f"{run} has no sample {unknown[0].item()!r}, about which {options.path} decides")
    return (
        np.isin(verdict.ids, patch.ids[patch.is_(KEEP) | patch.is_(RELABEL)]),
        np.isin(verdict.ids, patch.ids[patch.is_(REMOVE)]),
    )
