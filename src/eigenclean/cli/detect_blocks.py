"""`eigenclean detect` for data in blocks: judged and written by an engine, then summed up and reported."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigenclean.detect import Detector
    from eigenclean.detect.decisions import Decision
    from eigenclean.sources import Source


def by_stream(
    data: "Source", judge: "Detector", decision: "Decision | None", folder: Path, **publishing: Any
) -> dict[str, Any]:
    """Judge a source larger than memory; the verdict is written as it goes, and moved into place at the end."""
    from eigenclean.files import temporary_beside
    from eigenclean.report.publish import publish
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
            facts=_facts(done.verdict.made_by, done.engine),
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
    **publishing: Any,
) -> dict[str, Any]:
    """Judge a source on a cluster; the verdict becomes a folder of Parquet files, one for each block."""
    from eigenclean.files import temporary_beside
    from eigenclean.report.publish import publish
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
            facts=_facts(done.made_by, {**done.engine, "workers": workers}),
            written=parts,
            **publishing,
        )


def _facts(made_by: Any, engine: Any) -> dict[str, Any]:
    return {"decision": made_by["decision"], "engine": engine}
