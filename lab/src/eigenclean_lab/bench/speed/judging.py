"""How fast the judge is: against one product ``X.T @ X`` and cleanlab; and how fast a large CSV file is read."""

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
from eigenclean_lab.bench.speed.ratios import THREADS, Ratio, Target
from eigenclean_lab.bench.speed.synthetic import noisy_features
from eigenclean_lab.bench.speed.timing import best_in_turns, limited_threads, seconds

FILE = "bench_judge.json"
SUMS = "linear,kernel"  # the views that are sums over rows: they stream


@dataclass(frozen=True)
class Shape:
    """Rows, columns and classes of a case."""

    rows: int
    columns: int
    classes: int

    def smaller(self, factor: int) -> "Shape":
        """The same with fewer rows, and fewer classes where there are many."""
        return Shape(self.rows // factor, min(self.columns, 64), min(self.classes, 20))

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}, {self.classes} classes"


@dataclass(frozen=True)
class Sizes:
    """How much data the cases run on, and how often each side is timed."""

    sums: tuple[tuple[Shape, float], ...] = (  # with the target, as a multiple of one product
        (Shape(200_000, 512, 10), 12),
        (Shape(200_000, 512, 100), 40),
        (Shape(100_000, 768, 1000), 60),
    )
    growth: int = 4
    features: Shape = Shape(20_000, 1280, 10)
    table: Shape = Shape(50_000, 40, 5)
    csv: Shape = Shape(2_000_000, 64, 4)
    repeats: int = 2

    @classmethod
    def quick(cls) -> "Sizes":
        """A hundredth of the data: shows that everything runs, proves nothing about speed."""
        full = cls()
        return cls(
            sums=tuple((shape.smaller(100), target) for shape, target in full.sums[:1]),
            features=full.features.smaller(40),
            table=full.table.smaller(100),
            csv=full.csv.smaller(1000),
            repeats=1,
        )


def run(sizes: Sizes | None = None) -> list[Ratio]:
    """Run every case on `THREADS` threads; about ten minutes and 6 GB of memory at full size."""
    sizes = Sizes() if sizes is None else sizes
    cases: list[Callable[[Sizes], list[Ratio]]] = [_sums, _growth, _features, _table, _csv]
    results: list[Ratio] = []
    with limited_threads(THREADS):
        for case in track(cases, "benchmark"):
            results += case(sizes)
    return results


def _sums(sizes: Sizes) -> list[Ratio]:
    return [_against_gram(shape, target, sizes.repeats) for shape, target in sizes.sums]


def _against_gram(shape: Shape, target: float, repeats: int) -> Ratio:
    X, y = noisy_features(shape.rows, shape.columns, shape.classes)
    times = best_in_turns(lambda: _judge(X, y), lambda: X.T @ X, repeats)
    return Ratio.timed(f"judge ({SUMS}), {shape}", "X.T @ X", times, Target("at most", target))


def _growth(sizes: Sizes) -> list[Ratio]:
    shape = sizes.sums[0][0]
    X, y = noisy_features(shape.rows, shape.columns, shape.classes)
    few = shape.rows // sizes.growth
    times = best_in_turns(lambda: _judge(X, y), lambda: _judge(X[:few], y[:few]), sizes.repeats)
    target = Target("at most", 1.125 * sizes.growth)
    return [Ratio.timed(f"judge ({SUMS}), {shape.rows} rows", f"{few} rows", times, target)]


def _features(sizes: Sizes) -> list[Ratio]:
    shape = sizes.features
    X, y = noisy_features(shape.rows, shape.columns, shape.classes)
    times = best_in_turns(
        lambda: detector("judge").fit_judge(X, y), lambda: judge_with_cleanlab(X, y), sizes.repeats
    )
    case = f"judge (all views), features {shape}"
    return [Ratio.timed(case, "cleanlab on k-NN votes", times, Target("at most", 0.5))]


def _table(sizes: Sizes) -> list[Ratio]:
    shape = sizes.table
    X, y = noisy_features(shape.rows, shape.columns, shape.classes)
    ours = min(seconds(lambda: detector("judge").fit_judge(X, y)) for _ in range(sizes.repeats))
    # Fitting takes minutes: once. A case remembers models that it has fitted, so it cannot be used twice.
    case = Case(features=X, labels=y, truth=Truth(y))
    theirs = seconds(lambda: judge_with_peer("boosting-prune", case, 0))
    target = Target("at most", round(1 / 3, 3))
    return [Ratio.timed(f"judge (all views), table {shape}", "cleanlab on 5-fold boosting", (ours, theirs), target)]


def _csv(sizes: Sizes) -> list[Ratio]:
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

        times = best_in_turns(ours, lambda: pa.csv.read_csv(str(path)), sizes.repeats)
    case = f"labels, features and hash of a CSV file, {shape}"
    return [Ratio.timed(case, "pyarrow.csv.read_csv", times, Target("at most", 2))]


def _judge(X: Array, y: Ints) -> None:
    detector("judge", views=SUMS).fit_judge(X, y)
