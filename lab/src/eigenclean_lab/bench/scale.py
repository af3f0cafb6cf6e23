"""How data of any size are handled: stream and Dask against memory, and both against reading and multiplying."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import row_chunks
from eigenclean.detect.judge.shrinkage import SHRINKAGES
from eigenclean.errors import InvalidData
from eigenclean.files import remove
from eigenclean.names import check_name
from eigenclean.progress import track
from eigenclean.verdict import Verdict
from eigenclean_lab.bench.detect import THREADS, Must, Result, noisy_features
from eigenclean_lab.bench.scale_run import Ran
from eigenclean_lab.bench.timing import blas_libraries, limited_threads, seconds

FILE = "bench_scale.json"
GB = 1e9
CASES = ("engines", "equality", "memory", "time", "growth")  # each a group, and a method of the bench


@dataclass(frozen=True)
class Sizes:
    """How much data the cases run on."""

    rows: int = 400_000
    columns: int = 512
    classes: int = 10
    large_rows: int = 1_280_000
    large_columns: int = 2048
    large_classes: int = 1000
    small_rows: int = 100_000
    most_bytes: float = 2.5 * GB

    @classmethod
    def quick(cls) -> "Sizes":
        """Shows that everything runs, proves nothing."""
        return cls(4_000, 64, 5, 6_000, 96, 210, 3_000)


@dataclass(frozen=True)
class Costs:
    """What the machine does in a second, measured in the run.

    Attributes:
        read_bytes: read from the file, one after the other.
        second_moments: multiplications of zᵀz.
        discriminants: multiplications of rows with the directions of all classes.
    """

    read_bytes: float
    second_moments: float
    discriminants: float

    def blas(self, n: int, d: int, k: int, rounds: int) -> float:
        """Seconds that the judge's matrix products take."""
        # One fold of five tries all amounts of shrinkage at first, and then the neighbours of the last one.
        passes = rounds + (len(SHRINKAGES) + 2 * (rounds - 1)) / 5
        return n * d * d / self.second_moments + passes * n * d * k / self.discriminants


@dataclass(frozen=True)
class Estimate:
    """What a run on a cluster would take, by calculation.

    Attributes:
        hours: wall time.
        worker_hours: of all workers together.
        gigabytes: size of the features.
        table_gigabytes: what each worker keeps of its rows.
    """

    hours: float
    worker_hours: float
    gigabytes: float
    table_gigabytes: float


def estimate(record: Mapping[str, Any], *, rows: int, columns: int, classes: int, workers: int) -> Estimate:
    """From the rates of a saved run: reading and multiplying, times what a run took beyond both.

    A worker has one core; the rates were measured on `THREADS` of them.
    """
    costs, large = Costs(**record["costs"]), record["large"]
    own = 2 * rows * columns * 4 / (costs.read_bytes * workers)
    own += costs.blas(rows, columns, classes, large["rounds"]) * THREADS / workers
    hours = own * large["ratio"] / 3600
    tables = rows * (min(classes, 64) * 6 if classes > 200 else classes * 4) / workers
    return Estimate(hours, hours * workers, rows * columns * 4 / GB, tables / GB)


@dataclass
class Outcome:
    """The table and the rates behind it."""

    results: list[Result]
    costs: Costs | None
    large: dict[str, Any]

    def record(
        self, date: str, busy: float | None, sizes: Sizes, before: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Ready for JSON; what was not measured this time is taken from the record ``before``."""
        before = before or {}
        own = {result.case: {**asdict(result), "date": date, "busy_before": busy} for result in self.results}
        return {
            "machine": {
                "cpu_count": os.cpu_count(),
                "threads": THREADS,
                "numpy": np.__version__,
                "blas": blas_libraries(),
            },
            "sizes": asdict(sizes),
            "costs": before.get("costs") if self.costs is None else asdict(self.costs),
            "large": {**before.get("large", {}), **self.large},
            "cases": list({**{case["case"]: case for case in before.get("cases", [])}, **own}.values()),
        }


def chosen_cases(names: Sequence[str]) -> list[str]:
    """The groups of cases that were asked for, checked and in order; all when none are named.

    >>> chosen_cases(["memory", "equality"])
    ['equality', 'memory']
    """
    for name in names:
        check_name(name, CASES, by="bench scale", what="case")
    return [name for name in CASES if not names or name in names]


def read_record(path: Path, sizes: Sizes) -> dict[str, Any]:
    """Earlier results of data of the same sizes; empty if there are none."""
    if not path.is_file():
        return {}
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        same = record["sizes"] == asdict(sizes)
    except (ValueError, KeyError, TypeError, OSError):
        raise InvalidData(f"{path} is not a file of `eigenclean bench scale`; move it away") from None
    if not same:
        raise InvalidData(f"{path} has results of other sizes; measure all cases, or move it away")
    return record


def run(sizes: Sizes | None = None, *, folder: Path | None = None, cases: Sequence[str] = ()) -> Outcome:
    """Run these cases; the data are written to ``folder`` (11 GB at full size) and deleted afterwards."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="eigenclean-bench-") as place, limited_threads(THREADS):
        return _Bench(Sizes() if sizes is None else sizes, Path(place)).run(chosen_cases(cases))


class _Bench:
    def __init__(self, sizes: Sizes, folder: Path) -> None:
        self.sizes, self.folder = sizes, folder
        self._ran: dict[tuple[str, str, str], Ran] = {}

    def run(self, cases: Sequence[str]) -> Outcome:
        results: list[Result] = []
        for case in track(cases, "benchmark"):
            results += getattr(self, case)()
        facts = self._large_facts if "time" in cases else {}
        if "memory" in cases:
            facts["peak_bytes"] = self._engine("stream", "judge", "large").peak_bytes
        return Outcome(results, self.costs if "time" in cases else None, facts)

    def engines(self) -> list[Result]:
        found = []
        for method in ("judge", "fine"):
            times = self._best(("memory", "stream"), method)
            case = f"{method}, stream, {self._shape('middle')}"
            found.append(Result.timed(case, "memory", (times["stream"], times["memory"]), Must("at most", 1.5)))
        times = self._best(("dask", "stream"), "judge", 2)
        case = f"judge, local Dask cluster of 2 workers, {self._shape('middle')}"
        return [*found, Result.timed(case, "stream", (times["dask"], times["stream"]), Must("at most", 2))]

    def equality(self) -> list[Result]:
        found = []
        for method, engines in (("judge", ("stream", "dask")), ("fine", ("stream",))):
            self._engine("memory", method, "middle")
            expected = Verdict.load(self._out("memory", method, "middle"))
            for engine in engines:
                self._engine(engine, method, "middle")
                verdict = Verdict.load(self._out(engine, method, "middle"))
                scale = np.maximum(np.abs(expected.score), 1e-3)
                difference = float(np.max(np.abs(verdict.score - expected.score) / scale))
                other = int(np.count_nonzero(verdict.flagged != expected.flagged))
                note = f"largest difference of scores {difference:.1e}, {other} flags differ"
                case, yardstick = f"{method}, {engine}: scores", "difference of 1e-05"
                found.append(Result.measured(case, yardstick, difference / 1e-5, Must("at most", 1), note))
                case = f"{method}, {engine}: flags that differ from memory"
                found.append(Result.measured(case, "none", float(other), Must("at most", 0), note))
        return found

    def memory(self) -> list[Result]:
        most, peak = self.sizes.most_bytes, self._engine("stream", "judge", "large").peak_bytes
        size = self._data("large").stat().st_size
        case, note = f"judge, stream, {self._shape('large')}: peak resident memory", f"{peak / GB:.2f} GB"
        note += f" for {size / GB:.1f} GB of features"
        return [Result.measured(case, f"{most / GB:g} GB", peak / most, Must("at most", 1), note)]

    def time(self) -> list[Result]:
        facts, case = self._large_facts, f"judge, stream, {self._shape('large')}"
        least = facts["read_seconds"] + facts["blas_seconds"]
        yardstick = "reading the file twice, and the products of matrices"
        return [Result.timed(case, yardstick, (facts["seconds"], least), Must("at most", 3))]

    def growth(self) -> list[Result]:
        found = []
        for method in ("fine", "judge"):
            small = self._engine("stream", method, "small").seconds / self.sizes.small_rows
            large = self._engine("stream", method, "large").seconds / self.sizes.large_rows
            case = f"{method}, stream, time per row at {self.sizes.large_rows} rows"
            yardstick = f"at {self.sizes.small_rows} rows"
            found.append(Result.timed(case, yardstick, (large, small), Must("at most", 1.15)))
        return found

    @cached_property
    def _large_facts(self) -> dict[str, Any]:
        n, d, k = self.sizes.large_rows, self.sizes.large_columns, self.sizes.large_classes
        ran = self._engine("stream", "judge", "large")
        size = n * d * 4
        reading, blas = 2 * size / self.costs.read_bytes, self.costs.blas(n, d, k, ran.rounds)
        return {
            "rows": n,
            "columns": d,
            "classes": k,
            "bytes": size,
            "peak_bytes": ran.peak_bytes,
            "seconds": ran.seconds,
            "read_seconds": reading,
            "blas_seconds": blas,
            "rounds": ran.rounds,
            "passes": ran.engine["passes"],
            "ratio": ran.seconds / (reading + blas),
        }

    @cached_property
    def costs(self) -> Costs:
        """Rates on the large file, and on blocks of its shape."""
        d, k, path = self.sizes.large_columns, self.sizes.large_classes, self._data("large")
        reading = seconds(lambda: [None for _ in _read(path)])
        rows = np.random.default_rng(0).standard_normal((max(64, min(3200, (1 << 24) // d)), d), dtype=np.float32)
        directions = rows[:k] if k <= len(rows) else np.resize(rows, (k, d))
        gram = min(seconds(lambda: rows.T @ rows) for _ in range(5))
        product = min(seconds(lambda: rows @ directions.T) for _ in range(5))
        return Costs(path.stat().st_size / reading, len(rows) * d * d / gram, len(rows) * d * k / product)

    def _best(self, engines: Sequence[str], method: str, times: int = 3) -> dict[str, float]:
        """Seconds of the quickest of several runs, those of both engines in turns."""
        runs: dict[str, list[Ran]] = {engine: [] for engine in engines}
        for _ in range(times):
            for engine, own in runs.items():
                own.append(self._start(engine, method, "middle"))
        for engine, own in runs.items():
            self._ran[engine, method, "middle"] = min(own, key=lambda ran: ran.seconds)
        return {engine: self._ran[engine, method, "middle"].seconds for engine in engines}

    def _engine(self, engine: str, method: str, which: str) -> Ran:
        key = engine, method, which
        if key not in self._ran:
            self._ran[key] = self._start(*key)
        return self._ran[key]

    def _start(self, engine: str, method: str, which: str) -> Ran:
        out = self._out(engine, method, which)
        remove(out)
        module = "eigenclean_lab.bench.scale_run"
        places = [str(self._data(which)), str(self.folder / f"{which}_labels.npy"), str(out)]
        # Dask gives its workers one thread each, unless the environment says otherwise.
        names = () if engine == "dask" else ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        threads = dict.fromkeys(names, str(THREADS))
        done = subprocess.run(
            [sys.executable, "-m", module, engine, method, *places],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **threads},
        )
        if done.returncode:
            raise RuntimeError(f"the run of {engine} with {method} failed:\n{done.stderr}")
        return Ran(**json.loads(done.stdout.splitlines()[-1]))

    def _out(self, engine: str, method: str, which: str) -> Path:
        return self.folder / f"{which}-{engine}-{method}"

    def _shape(self, which: str) -> str:
        s = self.sizes
        n, d, k = (
            (s.large_rows, s.large_columns, s.large_classes) if which == "large" else (s.rows, s.columns, s.classes)
        )
        return f"{n} x {d}, {k} classes"

    def _data(self, which: str) -> Path:
        path = self.folder / f"{which}.npy"
        if not path.exists():
            s = self.sizes
            n = {"middle": s.rows, "large": s.large_rows, "small": s.small_rows}[which]
            d, k = (s.columns, s.classes) if which == "middle" else (s.large_columns, s.large_classes)
            write_features(path, self.folder / f"{which}_labels.npy", n, d, k)
        return path


def write_features(path: Path, labels: Path, n: int, d: int, k: int) -> None:
    """Features as `noisy_features` makes them, block after block, so that they need not fit into memory."""
    file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    given = np.empty(n, dtype=np.int64)
    for number, part in enumerate(row_chunks(n, 4 * d, 1 << 28)):
        file[part], given[part] = noisy_features(part.stop - part.start, d, k, seed=0, draw=number)
    file.flush()
    np.save(labels, given)


def _read(path: Path, size: int = 1 << 24) -> Iterator[int]:
    """Read a file that is not in the memory of the system any more."""
    buffer = bytearray(size)
    with open(path, "rb", buffering=0) as file:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while n := file.readinto(buffer):
            yield n
