"""How fast FINE is: against one product ``X.T @ X``, one read of ``X``, the published way and scikit-learn."""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import sklearn

from eigenclean.arrays import Array, ClassRows, Float64s, Ints, row_chunks
from eigenclean.detect import FINE
from eigenclean.mixture import fit_mixtures
from eigenclean.noise import add_noise
from eigenclean.progress import track
from eigenclean_lab.bench.published_way import published_p_clean, upper_posterior
from eigenclean_lab.bench.timing import (
    Work,
    best_around,
    best_in_turns,
    blas_libraries,
    limited_threads,
    peak_bytes,
    seconds,
)

THREADS = 2
_DIRECTIONS = 32  # in which all classes vary
_SPREAD = np.float32(2.5)  # of the noise, where the means of the classes have spread 1
_ALLOWED_DIFFERENCE = 1e-3  # of posteriors, ours against scikit-learn's


@dataclass(frozen=True)
class Sizes:
    """How much data the cases run on, and how often each side is timed."""

    rows: int = 50_000
    columns: int = 512
    few: int = 10
    many: int = 100
    growth: int = 8
    mixtures: int = 1000
    scores: int = 1000
    repeats: int = 11

    @classmethod
    def quick(cls) -> "Sizes":
        """A tenth of the data: shows that everything runs, proves nothing about speed."""
        return cls(rows=5_000, columns=128, many=50, mixtures=100, repeats=2)


@dataclass(frozen=True)
class Must:
    """A promise about a ratio: ``"at most"`` so many times the yardstick, or ``"faster"`` by at least so much."""

    kind: Literal["at most", "faster"]
    bound: float

    def holds(self, ratio: float) -> bool:
        """Is the promise kept?"""
        return ratio <= self.bound if self.kind == "at most" else ratio >= self.bound

    def __str__(self) -> str:
        return f"<= {self.bound:g}x" if self.kind == "at most" else f">= {self.bound:g}x faster"


@dataclass(frozen=True)
class Result:
    """One line of the table.

    Attributes:
        case: what was measured.
        yardstick: against what.
        ours_seconds: best time of ours; None where the ratio is not one of times.
        yardstick_seconds: best time of the yardstick; likewise.
        ratio: ours to yardstick, except where the promise is to be faster: then yardstick to ours.
        must: the promise in words; None for information only.
        passed: whether it is kept; None without a promise.
        note: what else there is to say.
    """

    case: str
    yardstick: str
    ours_seconds: float | None
    yardstick_seconds: float | None
    ratio: float
    must: str | None
    passed: bool | None
    note: str = ""

    @classmethod
    def timed(cls, case: str, yardstick: str, times: tuple[float, float], must: Must | None = None) -> "Result":
        """A result from the seconds of both sides."""
        ours, other = times
        ratio = other / ours if must and must.kind == "faster" else ours / other
        return cls(case, yardstick, ours, other, ratio, *_verdict(must, ratio))

    @classmethod
    def measured(cls, case: str, yardstick: str, ratio: float, must: Must, note: str) -> "Result":
        """A result that is no comparison of times."""
        return cls(case, yardstick, None, None, ratio, *_verdict(must, ratio), note)


def run(sizes: Sizes | None = None) -> list[Result]:
    """Run every case on `THREADS` threads; some minutes at full size."""
    bench = _Bench(Sizes() if sizes is None else sizes)
    cases: dict[Callable[[], list[Result]], float] = {  # with their shares of the time
        bench.against_gram: 5,
        bench.against_published_few: 45,
        bench.against_published_many: 15,
        bench.mixtures: 20,
        bench.memory: 2,
        bench.growth: 20,
        bench.for_information: 10,
    }
    results: list[Result] = []
    with limited_threads(THREADS):
        for case in track(list(cases), "benchmark", cases.values()):
            results += case()
    return results


def record(results: list[Result], date: str, busy: float | None = None) -> dict[str, Any]:
    """The results and the facts about this machine, ready for JSON.

    ``date`` is the day of the run, ``busy`` what `busy_processors` said before it.
    """
    return {
        "date": date,
        "machine": {
            "cpu_count": os.cpu_count(),
            "busy_before": busy,
            "threads": THREADS,
            "numpy": np.__version__,
            "scikit_learn": sklearn.__version__,
            "blas": blas_libraries(),
        },
        "cases": [asdict(result) for result in results],
    }


def noisy_features(rows: int, columns: int, classes: int, seed: int = 0, draw: int = 0) -> tuple[Array, Ints]:
    """Features like those of a network's last layer, in float32, and labels of which 20 % were drawn anew.

    A feature is the positive part of its class's mean, plus a few directions in which all classes vary, plus noise.
    Strengths are such that the spectrum of a class, and so the work of finding its vector, is that of real
    features: the second eigenvalue is about a tenth of the first. Rows are in no order; another ``draw`` has other
    rows of the same classes.

    >>> X, y = noisy_features(100, 8, classes=3)
    >>> X.shape, X.dtype, float(X.min()), y.shape
    ((100, 8), dtype('float32'), 0.0, (100,))
    """
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((classes, columns), dtype=np.float32)
    directions = rng.standard_normal((_DIRECTIONS, columns), dtype=np.float32)
    directions /= np.sqrt(np.arange(1, _DIRECTIONS + 1, dtype=np.float32))[:, None]
    if draw:
        rng = np.random.default_rng([seed, draw])
    truth = rng.integers(classes, size=rows)
    features = rng.standard_normal((rows, columns), dtype=np.float32)
    for part in row_chunks(rows, features.itemsize * columns):
        block = features[part]
        block *= _SPREAD
        block += rng.standard_normal((len(block), _DIRECTIONS), dtype=np.float32) @ directions
        block += means[truth[part]]
        np.maximum(block, 0.0, out=block)
    labels: Ints = add_noise(truth, "symmetric", 0.2, random_state=rng, classes=np.arange(classes))
    return features, labels


def noisy_scores(classes: int, each: int, seed: int = 0) -> tuple[Float64s, Ints]:
    """Alignments of ``classes`` classes, a fifth of each from a lower and broader bump, in no order."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(classes), each))
    centre = rng.uniform(0.75, 0.85, size=classes)[groups]
    wrong = rng.random(len(groups)) < 0.2
    noise = rng.standard_normal(len(groups))
    return np.where(wrong, centre - 0.25 + 0.06 * noise, centre + 0.04 * noise), groups


class _Bench:
    """The cases; data that several of them need is made once."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self._few_seconds: list[float] = []  # best times of the same work in several cases

    @cached_property
    def few(self) -> tuple[Array, Ints]:
        return noisy_features(self.sizes.rows, self.sizes.columns, self.sizes.few)

    def against_gram(self) -> list[Result]:
        X, y = self.few
        times = best_in_turns(lambda: _fine(X, y), lambda: X.T @ X, self.sizes.repeats)
        self._few_seconds.append(times[0])
        return [Result.timed(self._fine_on(self.sizes.few), "X.T @ X", times, Must("at most", 1.5))]

    def against_published_few(self) -> list[Result]:
        return [self._against_published(*self.few, self.sizes.few, Must("faster", 250))]

    def against_published_many(self) -> list[Result]:
        X, y = noisy_features(self.sizes.rows, self.sizes.columns, self.sizes.many)
        return [self._against_published(X, y, self.sizes.many, Must("faster", 50))]

    def mixtures(self) -> list[Result]:
        scores, groups = noisy_scores(self.sizes.mixtures, self.sizes.scores)
        rows = ClassRows.of(groups, self.sizes.mixtures)
        theirs = np.empty_like(scores)

        def ours() -> Float64s:
            own_rows = ClassRows.of(groups, self.sizes.mixtures)
            return fit_mixtures(scores, own_rows, tol=1e-6, max_iter=100).posterior(scores, groups)

        def loop(classes: int) -> None:
            for k in range(classes):
                theirs[rows[k]] = upper_posterior(scores[rows[k]])

        case = f"mixtures, {self.sizes.mixtures} classes x {self.sizes.scores}"
        times = best_around(ours, lambda: loop(len(rows)), lambda: loop(10), self.sizes.repeats)
        difference = float(np.abs(ours() - theirs).max())
        return [
            Result.timed(case, "GaussianMixture loop", times, Must("faster", 20)),
            Result.measured(
                "the same: posteriors",
                f"difference of {_ALLOWED_DIFFERENCE:g}",
                difference / _ALLOWED_DIFFERENCE,
                Must("at most", 1),
                f"largest difference {difference:.1e}",
            ),
        ]

    def memory(self) -> list[Result]:
        X, y = self.few
        peak = peak_bytes(lambda: _fine(X, y))
        note = f"peak {peak / 1e6:.1f} MB, X {X.nbytes / 1e6:.1f} MB"
        return [
            Result.measured(
                f"{self._fine_on(self.sizes.few)}: peak memory beyond X",
                "size of X",
                peak / X.nbytes,
                Must("at most", 0.5),
                note,
            )
        ]

    def growth(self) -> list[Result]:
        X, y = self.few
        times = self.sizes.growth
        large, labels = noisy_features(times * self.sizes.rows, self.sizes.columns, self.sizes.few)
        # A disturbed small run would make growth look slow, and so the promise kept: as much time for the small
        # runs as for the large ones, and the best small run of all cases counts.
        shorts: list[float] = []

        def short() -> None:
            shorts.extend(seconds(lambda: _fine(X, y)) for _ in range(times))

        best, _ = best_in_turns(lambda: _fine(large, labels), short, self.sizes.repeats)
        self._few_seconds += shorts
        pair = best, min(self._few_seconds)
        case = f"FINE, {len(large)} rows"
        return [Result.timed(case, f"{len(X)} rows ({times}x fewer)", pair, Must("at most", 1.125 * times))]

    def for_information(self) -> list[Result]:
        X, y = self.few
        gram, read = ("X.T @ X", lambda: X.T @ X), ("one read, X.sum()", lambda: X.sum())
        works: list[tuple[str, Work, tuple[str, Work]]] = [
            ("FINE fit + score + cut", lambda: _fine(X, y), read),
            ("FINE.fit alone", lambda: FINE().fit(X, y), gram),
            ("FINE(keep_moments=True).fit", lambda: FINE(keep_moments=True).fit(X, y), gram),
            ("FINE.judge, with suggestions", lambda: FINE().judge(X, y), gram),
        ]
        return [
            Result.timed(case, yardstick, best_in_turns(ours, other, self.sizes.repeats))
            for case, ours, (yardstick, other) in works
        ]

    def _fine_on(self, classes: int) -> str:
        return f"FINE fit + score + cut, {self.sizes.rows} x {self.sizes.columns}, {classes} classes"

    def _against_published(self, X: Array, y: Ints, classes: int, must: Must) -> Result:
        first = y == 0
        one_class, its_labels = X[first], y[first]
        times = best_around(
            lambda: _fine(X, y),
            lambda: published_p_clean(X, y),
            lambda: published_p_clean(one_class, its_labels),
            self.sizes.repeats,
        )
        return Result.timed(self._fine_on(classes), "the published way", times, must)


def _fine(X: Array, y: Ints) -> Float64s:
    """What the published way does too: vectors, scores, mixtures, and P(right) of every sample."""
    return FINE().fit(X, y).p_clean(X, y)


def _verdict(must: Must | None, ratio: float) -> tuple[str | None, bool | None]:
    return (None, None) if must is None else (str(must), must.holds(ratio))
