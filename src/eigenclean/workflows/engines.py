"""The engines of `eigenclean detect`: features in memory, streamed from disk, or on a Dask cluster."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eigenclean.arrays import Array, Float64s
from eigenclean.detect import Detector, fit_to_evidence
from eigenclean.detect.decisions import Decision
from eigenclean.detect.judge.verified import judge_verified
from eigenclean.evidence import VerifiedLabels
from eigenclean.files import temporary_beside
from eigenclean.scale.stream import judge_stream
from eigenclean.sources import Source
from eigenclean.verdict import FILE, Verdict
from eigenclean.workflows.detection.decisions import decision_facts
from eigenclean.workflows.detection.groups import grouping_detector
from eigenclean.workflows.self_test import choose, self_test


@dataclass(frozen=True, eq=False)
class Job:
    """The data, the detectors and the options that an engine is given.

    Attributes:
        data: a source with features.
        detectors: one detector, or several of which the self-test chooses one.
        decision: which labels are flagged; None for the detector's own threshold.
        folder: where the verdict will be; blocks are written beside it.
        share: share of labels that the self-test makes wrong.
        self_test: whether the detector is also measured on planted errors.
        scheduler: address of a Dask scheduler.
        probabilities: of the classes, predicted by a model of the user; only in memory.
        groups: which rows belong together; only in memory.
        verified: what people decided about labels.
    """

    data: Source
    detectors: Sequence[Detector]
    decision: Decision | None
    folder: Path
    share: float
    self_test: bool = False
    scheduler: str | None = None
    probabilities: Float64s | None = None
    groups: Array | None = None
    verified: VerifiedLabels | None = None


@dataclass(frozen=True, eq=False)
class Judged:
    """The result of an engine: the verdict and facts about the run.

    Attributes:
        verdict: the verdict.
        seconds: how long judging took.
        facts: entries of the summary: the engine, the self-test, the chosen method.
        written: temporary file or folder that holds the verdict, if the engine wrote it block by block.
        data_hash: hash of the data, if the engine read every row in order.
        files: more files of the run, each with a function that writes it.
    """

    verdict: Verdict
    seconds: float
    facts: Mapping[str, Any] = field(default_factory=dict)
    written: Path | None = None
    data_hash: str | None = None
    files: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)


@contextmanager
def judge_in_memory(job: Job) -> Iterator[Judged]:
    """Judge features in memory; of several detectors by the one that ranks planted errors best."""
    started = time.perf_counter()
    facts: dict[str, Any] = {}
    detector, test, labels = job.detectors[0], None, job.data.labels
    if job.probabilities is None:
        features = job.data.features()
    else:
        detector, features = fit_to_evidence(
            detector, replace(job.data.evidence(), probabilities=job.probabilities)
        )
    if len(job.detectors) > 1:
        choice = choose(job.detectors, features, labels, share=job.share, decision=job.decision)
        detector, test, facts["auto"] = choice.detector, choice.tests[choice.detector.name], choice.as_dict()
    if job.verified is not None:
        judge = grouping_detector(detector)
        options: dict[str, Any] = {"ids": job.data.ids, "decision": job.decision, "groups": job.groups}
        verdict = judge_verified(judge, features, labels, job.verified, **options)
        facts |= _decision_facts(job)
    elif job.groups is None:
        verdict = detector.fit_judge(features, labels, ids=job.data.ids, decision=job.decision)
    else:
        judge = grouping_detector(detector)
        verdict = judge.fit_judge(features, labels, ids=job.data.ids, decision=job.decision, groups=job.groups)
    seconds = time.perf_counter() - started
    if job.self_test:
        test = test or self_test(detector, features, labels, share=job.share, decision=job.decision, before=verdict)
        facts["self_test"] = test.as_dict()
    yield Judged(verdict, seconds, facts)


@contextmanager
def judge_streaming(job: Job) -> Iterator[Judged]:
    """Judge a source larger than memory; the verdict is written block by block."""
    started = time.perf_counter()
    with temporary_beside(job.folder / FILE) as file:
        streamed = judge_stream(
            job.data, job.detectors[0], decision=job.decision, verified=job.verified, write=file
        )
        yield Judged(
            streamed.verdict,
            time.perf_counter() - started,
            {"engine": streamed.engine, **_decision_facts(job)},
            written=file,
            data_hash=streamed.data_hash,
        )


@contextmanager
def judge_on_cluster(job: Job) -> Iterator[Judged]:
    """Judge a source on a Dask cluster; the verdict becomes a folder of Parquet files, one per block.

    No worker sees all rows in order, so the data hash is left to the caller.
    """
    from eigenclean.scale.dask import cluster, judge_dask

    started = time.perf_counter()
    with temporary_beside(job.folder / FILE) as blocks, cluster(job.scheduler) as client:
        judged = judge_dask(job.data, judge=job.detectors[0], decision=job.decision, verified=job.verified)
        judged.to_parquet(blocks.resolve())
        seconds = time.perf_counter() - started
        n_workers = len(client.scheduler_info(n_workers=-1)["workers"])
        facts = {"engine": {**judged.engine, "workers": n_workers}, **_decision_facts(job)}
        yield Judged(judged.compute(), seconds, facts, written=blocks)


def _decision_facts(job: Job) -> dict[str, Any]:
    return {} if job.verified is None else {"decisions": decision_facts(job.verified, job.data)}


ENGINES: dict[str, Callable[[Job], AbstractContextManager[Judged]]] = {
    "memory": judge_in_memory,
    "stream": judge_streaming,
    "dask": judge_on_cluster,
}
