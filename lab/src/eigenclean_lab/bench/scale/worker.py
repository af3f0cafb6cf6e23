"""One run of one engine in a separate process, so that time and memory are those of the engine alone.

Called as ``python -m eigenclean_lab.bench.scale.worker ENGINE METHOD FEATURES LABELS OUT``; prints JSON.
"""

import json
import resource
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eigenclean.detect import Detector, detector
from eigenclean.errors import EigencleanWarning
from eigenclean.sources import Source, open_source


@dataclass(frozen=True)
class EngineRun:
    """Time and memory of one run.

    Attributes:
        seconds: from opening the source to the last row of the verdict on the disk.
        peak_bytes: most resident memory of the process, workers not included.
        rounds: rounds of the judge; 0 for other detectors.
        engine: facts that the engine reports about itself.
    """

    seconds: float
    peak_bytes: int
    rounds: int
    engine: dict[str, Any]


def run(engine: str, method: str, features: Path, labels: Path, out: Path) -> EngineRun:
    """Judge the file and save verdict and summary, as `eigenclean detect --no-report` does."""
    # The judge with the views that every engine has, or the work of the engines could not be compared.
    judge = detector(method, views="linear,kernel") if method == "judge" else detector(method)
    if engine == "dask":
        from eigenclean.scale.dask import cluster

        with cluster(workers=2) as client:
            client.run(_warm_up)  # starting the cluster is not part of the time
            started = time.perf_counter()
            judge, facts = _dask(open_source(features, labels=labels), judge, out)
            seconds = time.perf_counter() - started
    else:
        started = time.perf_counter()
        judge_with = _stream if engine == "stream" else _memory
        judge, facts = judge_with(open_source(features, labels=labels), judge, out)
        seconds = time.perf_counter() - started
    return EngineRun(seconds, peak_bytes(), int(getattr(judge, "n_rounds_", 0)), facts)


def peak_bytes() -> int:
    """Most resident memory of this process.

    ``VmHWM`` is preferred on Linux, where ``ru_maxrss`` is inherited from the process that started this one.
    """
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _memory(data: Source, judge: Detector, out: Path) -> tuple[Detector, dict[str, Any]]:
    features = data.features()
    verdict = judge.fit_judge(features, data.labels, ids=data.ids)
    verdict.save(out, data_hash=data.data_hash())
    return judge, {"name": "memory"}


def _stream(data: Source, judge: Detector, out: Path) -> tuple[Detector, dict[str, Any]]:
    from eigenclean.files import temporary_beside
    from eigenclean.scale.stream import judge_stream
    from eigenclean.verdict import FILE

    with temporary_beside(out / FILE) as file:
        done = judge_stream(data, judge, write=file)
        done.verdict.save(out, written=file, data_hash=done.data_hash)
    return done.judge, done.engine


def _dask(data: Source, judge: Detector, out: Path) -> tuple[Detector, dict[str, Any]]:
    from eigenclean.files import move_into_place, temporary_beside
    from eigenclean.scale.dask import judge_dask
    from eigenclean.verdict import FILE

    with temporary_beside(out / FILE) as parts:
        done = judge_dask(data, judge=judge)
        move_into_place(done.to_parquet(parts.resolve()), out / FILE)
    return done.judge, dict(done.engine)


def _warm_up() -> None:
    import eigenclean.detect  # noqa: F401


if __name__ == "__main__":
    warnings.simplefilter("ignore", EigencleanWarning)
    engine_name, method_name, *paths = sys.argv[1:]
    sys.stdout.write(json.dumps(asdict(run(engine_name, method_name, *map(Path, paths)))))
