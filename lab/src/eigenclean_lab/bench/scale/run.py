"""The cases of `eigenclean bench scale`: streaming and Dask against memory, and against reading and multiplying."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from eigenclean.arrays import row_chunks
from eigenclean.files import remove
from eigenclean.names import check_name
from eigenclean.progress import track
from eigenclean.verdict import Verdict
from eigenclean_lab.bench.scale.estimate import GB, Rates
from eigenclean_lab.bench.scale.worker import EngineRun
from eigenclean_lab.bench.speed.ratios import THREADS, Ratio, RatioTarget
from eigenclean_lab.bench.speed.synthetic import noisy_features
from eigenclean_lab.bench.speed.timing import limited_threads, seconds

GROUPS = ("engines", "equality", "memory", "time", "growth")  # of cases, each a method of the bench
RATES, LARGE_RUN = "rates of this machine", "the run on the large data"  # measurements that are no ratios


@dataclass(frozen=True)
class Measurement:
    """What a case gives: a ratio with its target, other numbers, or both.

    Attributes:
        group: a name from `GROUPS`.
        case: what was measured.
        ratio: against a baseline; None where there is none.
        numbers: by name.
    """

    group: str
    case: str
    ratio: Ratio | None
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class ScaleSizes:
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
    def quick(cls) -> "ScaleSizes":
        """Shows that everything runs, proves nothing."""
        return cls(4_000, 64, 5, 6_000, 96, 210, 3_000)


def run(
    sizes: ScaleSizes | None = None, *, folder: Path | None = None, groups: Sequence[str] = ()
) -> list[Measurement]:
    """Run these groups of cases; the data are written to ``folder`` (11 GB at full size) and deleted afterwards."""
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix="eigenclean-bench-") as place,
        limited_threads(THREADS),
    ):
        return _Bench(ScaleSizes() if sizes is None else sizes, Path(place)).run(select_groups(groups))


def select_groups(names: Sequence[str]) -> list[str]:
    """The named groups of cases, checked and in order; all when none are named.

    >>> select_groups(["memory", "equality"])
    ['equality', 'memory']
    """
    for name in names:
        check_name(name, GROUPS, by="bench scale", what="case")
    return [name for name in GROUPS if not names or name in names]


class _Bench:
    def __init__(self, sizes: ScaleSizes, folder: Path) -> None:
        self.sizes, self.folder = sizes, folder
        self._ran: dict[tuple[str, str, str], EngineRun] = {}

    def run(self, groups: Sequence[str]) -> list[Measurement]:
        results: list[Measurement] = []
        for group in track(groups, "benchmark"):
            for outcome in getattr(self, group)():
                ratio, numbers = outcome if isinstance(outcome, tuple) else (outcome, {})
                results.append(Measurement(group, ratio.case, ratio, numbers))
            if group == "time":
                results.append(Measurement(group, RATES, None, asdict(self.rates)))
                results.append(Measurement(group, LARGE_RUN, None, self._large_run))
        return results

    def engines(self) -> list[Ratio]:
        ratios = []
        for method in ("judge", "fine"):
            times = self._best(("memory", "stream"), method)
            case = f"{method}, stream, {self._shape('middle')}"
            ratios.append(
                Ratio.timed(case, "memory", (times["stream"], times["memory"]), RatioTarget("at most", 1.5))
            )
        times = self._best(("dask", "stream"), "judge", 2)
        case = f"judge, local Dask cluster of 2 workers, {self._shape('middle')}"
        return [*ratios, Ratio.timed(case, "stream", (times["dask"], times["stream"]), RatioTarget("at most", 2))]

    def equality(self) -> list[tuple[Ratio, dict[str, float]]]:
        results = []
        for method, engines in (("judge", ("stream", "dask")), ("fine", ("stream",))):
            self._engine("memory", method, "middle")
            expected = Verdict.load(self._out("memory", method, "middle"))
            for engine in engines:
                self._engine(engine, method, "middle")
                verdict = Verdict.load(self._out(engine, method, "middle"))
                # Log-odds near 0 are differences of large numbers: an error is large or small beside their spread.
                scale = np.maximum(np.abs(expected.score), np.std(expected.score))
                difference = float(np.max(np.abs(verdict.score - expected.score) / scale))
                flags = int(np.count_nonzero(verdict.flagged != expected.flagged))
                note = f"largest difference of scores {difference:.1e}, {flags} flags differ"
                case, baseline = f"{method}, {engine}: scores", "difference of 1e-05"
                scores = Ratio.measured(case, baseline, difference / 1e-5, RatioTarget("at most", 1), note)
                case = f"{method}, {engine}: flags that differ from memory"
                differing = Ratio.measured(case, "none", float(flags), RatioTarget("at most", 0), note)
                results += [(scores, {}), (differing, {"differing_flags": float(flags)})]
        return results

    def memory(self) -> list[Ratio]:
        most, peak = self.sizes.most_bytes, self._engine("stream", "judge", "large").peak_bytes
        size = self._data("large").stat().st_size
        case, note = f"judge, stream, {self._shape('large')}: peak resident memory", f"{peak / GB:.2f} GB"
        note += f" for {size / GB:.1f} GB of features"
        return [Ratio.measured(case, f"{most / GB:g} GB", peak / most, RatioTarget("at most", 1), note)]

    def time(self) -> list[Ratio]:
        facts, case = self._large_run, f"judge, stream, {self._shape('large')}"
        least = facts["read_seconds"] + facts["blas_seconds"]
        baseline = "reading the file twice, and the products of matrices"
        return [Ratio.timed(case, baseline, (facts["seconds"], least), RatioTarget("at most", 3))]

    def growth(self) -> list[Ratio]:
        ratios = []
        for method in ("fine", "judge"):
            small = self._engine("stream", method, "small").seconds / self.sizes.small_rows
            large = self._engine("stream", method, "large").seconds / self.sizes.large_rows
            case = f"{method}, stream, time per row at {self.sizes.large_rows} rows"
            baseline = f"at {self.sizes.small_rows} rows"
            ratios.append(Ratio.timed(case, baseline, (large, small), RatioTarget("at most", 1.15)))
        return ratios

    @cached_property
    def _large_run(self) -> dict[str, float]:
        n, d, k = self.sizes.large_rows, self.sizes.large_columns, self.sizes.large_classes
        ran = self._engine("stream", "judge", "large")
        size = n * d * 4
        reading, blas = 2 * size / self.rates.read_bytes, self.rates.blas_seconds(n, d, k, ran.rounds)
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
    def rates(self) -> Rates:
        """Rates on the large file, and on blocks of its shape."""
        d, k, path = self.sizes.large_columns, self.sizes.large_classes, self._data("large")
        reading = seconds(lambda: [None for _ in _read(path)])
        rows = np.random.default_rng(0).standard_normal((max(64, min(3200, (1 << 24) // d)), d), dtype=np.float32)
        directions = rows[:k] if k <= len(rows) else np.resize(rows, (k, d))
        gram = min(seconds(lambda: rows.T @ rows) for _ in range(5))
        product = min(seconds(lambda: rows @ directions.T) for _ in range(5))
        return Rates(path.stat().st_size / reading, len(rows) * d * d / gram, len(rows) * d * k / product)

    def _best(self, engines: Sequence[str], method: str, times: int = 3) -> dict[str, float]:
        """Seconds of the quickest of several runs, those of both engines in turns."""
        runs: dict[str, list[EngineRun]] = {engine: [] for engine in engines}
        for _ in range(times):
            for engine, of_engine in runs.items():
                of_engine.append(self._start(engine, method, "middle"))
        for engine, of_engine in runs.items():
            self._ran[engine, method, "middle"] = min(of_engine, key=lambda ran: ran.seconds)
        return {engine: self._ran[engine, method, "middle"].seconds for engine in engines}

    def _engine(self, engine: str, method: str, which: str) -> EngineRun:
        key = engine, method, which
        if key not in self._ran:
            self._ran[key] = self._start(*key)
        return self._ran[key]

    def _start(self, engine: str, method: str, which: str) -> EngineRun:
        out = self._out(engine, method, which)
        remove(out)
        module = "eigenclean_lab.bench.scale.worker"
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
        return EngineRun(**json.loads(done.stdout.splitlines()[-1]))

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
    noisy = np.empty(n, dtype=np.int64)
    for number, rows in enumerate(row_chunks(n, 4 * d, 1 << 28)):
        file[rows], noisy[rows] = noisy_features(rows.stop - rows.start, d, k, seed=0, draw=number)
    file.flush()
    np.save(labels, noisy)


def _read(path: Path, size: int = 1 << 24) -> Iterator[int]:
    """Read a file in blocks, after dropping it from the page cache where the system allows it."""
    buffer = bytearray(size)
    with open(path, "rb", buffering=0) as file:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while n := file.readinto(buffer):
            yield n
