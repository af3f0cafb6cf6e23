"""How fast the judge is: against one product ``X.T @ X`` and cleanlab; and how fast a large CSV file is read.

Times are processor seconds on one thread, the least of several runs where both sides are fast. Other processes
disturb processor time much less than time on the wall.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from eigenclean import detector
from eigenclean.arrays import Array, Ints
from eigenclean.progress import track
from eigenclean.sources import open_source
from eigenclean.truth import Truth
from eigenclean_lab.bench.quality.baseline import judge_with_cleanlab
from eigenclean_lab.bench.quality.case import Case
from eigenclean_lab.bench.quality.peers import judge_with_peer
from eigenclean_lab.bench.speed.ratios import Ratio, RatioTarget
from eigenclean_lab.bench.speed.synthetic import noisy_features
from eigenclean_lab.bench.speed.timing import Work, limited_threads, processor_time, seconds

FILE = "bench_judge.json"
THREADS = 1
SUMS = "linear,kernel"  # the views that are sums over rows: they stream


@dataclass(frozen=True)
class Shape:
    """Rows, columns and classes of a case."""

    rows: int
    columns: int
    classes: int

    def smaller(self, factor: int) -> "Shape":
        """A shape with fewer rows, and fewer classes where there are many."""
        return Shape(self.rows // factor, min(self.columns, 64), min(self.classes, 20))

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}, {self.classes} classes"


@dataclass(frozen=True)
class JudgingSizes:
    """How much data the cases run on, and how often a side is timed that is not slow."""

    sums: tuple[tuple[Shape, float], ...] = (  # with the target, as a multiple of one product
        (Shape(200_000, 512, 10), 12),
        (Shape(200_000, 512, 100), 40),
        (Shape(100_000, 768, 1000), 60),
    )
    growth: int = 4
    features: Shape = Shape(20_000, 1280, 10)
    table: Shape = Shape(50_000, 40, 5)
    csv: Shape = Shape(2_000_000, 64, 4)
    repeats: int = 3

    @classmethod
    def quick(cls) -> "JudgingSizes":
        """A hundredth of the data: shows that everything runs, proves nothing about speed."""
        full = cls()
        return cls(
            sums=tuple((shape.smaller(100), target) for shape, target in full.sums[:1]),
            features=full.features.smaller(40),
            table=full.table.smaller(100),
            csv=full.csv.smaller(1000),
            repeats=1,
        )


def run(sizes: JudgingSizes | None = None) -> list[Ratio]:
    """Run every case; about ten minutes and 6 GB of memory at full size."""
    sizes = JudgingSizes() if sizes is None else sizes
    cases: list[Callable[[JudgingSizes], list[Ratio]]] = [_sums, _features, _table, _csv]
    results: list[Ratio] = []
    with limited_threads(THREADS):
        _judge(*noisy_features(300, 8, 3))  # what is imported late is not timed
        for case in track(cases, "benchmark"):
            results += case(sizes)
    return results


def best(work: Work, repeats: int = 1) -> float:
    """Processor seconds, the least of several runs."""
    return min(seconds(work, processor_time) for _ in range(repeats))


def _sums(sizes: JudgingSizes) -> list[Ratio]:
    first, *others = sizes.sums
    ratios = _against_gram(*first, sizes.repeats, sizes.growth)
    for shape, target in others:
        ratios += _against_gram(shape, target, sizes.repeats)
    return ratios


def _against_gram(shape: Shape, target: float, repeats: int, growth: int | None = None) -> list[Ratio]:
    """The judge against one product, and with ``growth`` against so many times fewer rows."""
    X, y = noisy_features(shape.rows, shape.columns, shape.classes)
    gram = best(lambda: X.T @ X, repeats)
    ours = best(lambda: _judge(X, y), repeats)
    case = f"judge ({SUMS}), {shape}"
    ratios = [Ratio.timed(case, "X.T @ X", (ours, gram), RatioTarget("at most", target))]
    if growth is not None:
        few = shape.rows // growth
        less = best(lambda: _judge(X[:few], y[:few]), repeats)
        ratios.append(Ratio.timed(case, f"{few} rows", (ours, less), RatioTarget("at most", 1.125 * growth)))
    return ratios


def _features(sizes: JudgingSizes) -> list[Ratio]:
    shape = sizes.features
    X, y = noisy_features(shape.rows, shape.columns, shape.classes)
    times = best(lambda: detector("judge").fit_judge(X, y)), best(lambda: judge_with_cleanlab(X, y))
    case = f"judge (all views), features {shape}"
    return [Ratio.timed(case, "cleanlab on k-NN votes", times, RatioTarget("at most", 0.5))]


def _table(sizes: JudgingSizes) -> list[Ratio]:
    shape = sizes.table
    X, y = noisy_features(shape.rows, shape.columns, shape.classes)
    case = Case(features=X, labels=y, truth=Truth(y))
    ours = best(lambda: detector("judge").fit_judge(X, y))
    theirs = best(lambda: judge_with_peer("boosting-prune", case, 0))
    target = RatioTarget("at most", round(1 / 3, 3))
    return [Ratio.timed(f"judge (all views), table {shape}", "cleanlab on 5-fold boosting", (ours, theirs), target)]


def _csv(sizes: JudgingSizes) -> list[Ratio]:
    shape = sizes.csv
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        X, y = noisy_features(shape.rows, shape.columns, shape.classes)
        # Numbers of a table are rarely zero, which would make parsing too cheap.
        columns = {f"c{j}": np.where(X[:, j] > 0, X[:, j], np.float32(j + 0.25)) for j in range(shape.columns)}
        pa.csv.write_csv(pa.table({**columns, "label": y}), str(path))
        del X, columns

        def ours() -> None:
            source = open_source(str(path))
            source.features()
            source.data_hash()

        times = best(ours), best(lambda: pa.csv.read_csv(str(path)))
    case = f"labels, features and hash of a CSV file, {shape}"
    return [Ratio.timed(case, "pyarrow.csv.read_csv", times, RatioTarget("at most", 2))]


def _judge(X: Array, y: Ints) -> None:
    detector("judge", views=SUMS).fit_judge(X, y)
