"""The engines of `eigenclean detect`: how the data are judged, written, summed up and reported."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenclean.detect import Detector
    from eigenclean.detect.decisions import Decision
    from eigenclean.sources import Source


def in_memory(
    data: "Source",
    judges: "Sequence[Detector]",
    decision: "Decision | None",
    folder: Path,
    *,
    planted: float | None,
    tested: bool,
    facts: Mapping[str, Any],
    **publishing: Any,
) -> dict[str, Any]:
    """Judge features in memory; of several detectors, by the one that finds most of the errors planted."""
    from eigenclean.report.run_folder import publish

    started = time.perf_counter()
    found, features, judge = dict(facts), data.features(), judges[0]
    test = None
    if len(judges) > 1:
        from eigenclean.workflows import self_test as testing

        assert planted is not None
        choice = testing.choose(judges, features, data.labels, share=planted, decision=decision)
        judge, test, found["auto"] = choice.judge, choice.tests[choice.judge.name], choice.as_dict()
    verdict = judge.fit_judge(features, data.labels, ids=data.ids, decision=decision)
    seconds = time.perf_counter() - started
    if tested:
        from eigenclean.workflows import self_test as testing

        assert planted is not None
        test = test or testing.self_test(
            judge, features, data.labels, share=planted, decision=decision, before=verdict
        )
        found["self_test"] = test.as_dict()
    assert not isinstance(verdict.made_by, str)
    return publish(folder, verdict, data, seconds=seconds, facts=_facts(verdict.made_by, found), **publishing)


def by_stream(
    data: "Source",
    judge: "Detector",
    decision: "Decision | None",
    folder: Path,
    *,
    facts: Mapping[str, Any],
    **publishing: Any,
) -> dict[str, Any]:
    """Judge a source larger than memory; the verdict is written as it goes, and moved into place at the end."""
    from eigenclean.files import temporary_beside
    from eigenclean.report.run_folder import publish
    from eigenclean.scale.stream import judge_stream
    from eigenclean.verdict import FILE

    started = time.perf_counter()
    with temporary_beside(folder / FILE) as file:
        done = judge_stream(data, judge, decision=decision, write=file)
        return publish(
            folder,
            done.verdict,
            data,
            seconds=time.perf_counter() - started,
            facts=_facts(done.verdict.made_by, {**facts, "engine": done.engine}),
            written=file,
            data_hash=done.data_hash,
            **publishing,
        )


def by_dask(
    data: "Source",
    judge: "Detector",
    decision: "Decision | None",
    folder: Path,
    scheduler: str | None,
    *,
    facts: Mapping[str, Any],
    **publishing: Any,
) -> dict[str, Any]:
    """Judge a source on a cluster; the verdict becomes a folder of Parquet files, one for each block."""
    from eigenclean.files import temporary_beside
    from eigenclean.report.run_folder import publish
    from eigenclean.scale.dask import cluster, judge_dask
    from eigenclean.verdict import FILE

    started = time.perf_counter()
    with temporary_beside(folder / FILE) as parts, cluster(scheduler) as client:
        done = judge_dask(data, judge=judge, decision=decision)
        done.to_parquet(parts.resolve())
        seconds = time.perf_counter() - started
        workers = len(client.scheduler_info(n_workers=-1)["workers"])
        return publish(
            folder,
            done.compute(),
            data,
            seconds=seconds,
            facts=_facts(done.made_by, {**facts, "engine": {**done.engine, "workers": workers}}),
            written=parts,
            **publishing,
        )


def _facts(made_by: Any, others: Mapping[str, Any]) -> dict[str, Any]:
    return {"decision": made_by["decision"], **others}
