"""The first eigenvector of every class from rows in blocks, by the way that costs least and fits.

Three ways give the vectors that `top_eigenpair` finds in memory, from the same start and to the same precision:

* *moments*: Σ z zᵀ of every class in one pass. They add up, but take K·d² numbers and d multiplications a number.
* *iterations*: the Lanczos iterations of all classes in step. Each is a pass, but K·d numbers are enough.
* *rows*: when only a share of each class is wanted, or classes are tiny, those rows themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_array

from eigenclean.arrays import Array, ClassRows, Float64s, Ints, row_chunks, working_dtype
from eigenclean.detect.blocks import Blocks
from eigenclean.moments import ClassMoments, eigenpair_by_start, is_small, lanczos_steps, start_rows, top_eigenpair

# What the choice goes by: roughly what one core does. It need only be right about which way is longer.
_MULTIPLICATIONS = 2.5e10  # a second, in a product of matrices
_BYTES = 1.5e9  # a second, of reading and of going through them once
_PASSES = 6  # of the iterations: most classes need four or five


@dataclass(frozen=True)
class Way:
    """How the vectors are found, and what it was expected to cost.

    >>> Way.choose(n=1_280_000, d=2048, k=1000, itemsize=4, budget=1 << 30).name
    'iterations'
    >>> Way.choose(n=1_000_000, d=128, k=10, itemsize=4, budget=1 << 30).name
    'moments'
    """

    name: Literal["moments", "iterations", "rows", "sums"]
    passes: int
    bytes: int
    seconds: float

    @classmethod
    def choose(cls, *, n: int, d: int, k: int, itemsize: int, budget: int) -> "Way":
        """The way that takes less time, of those whose sums fit into ``budget`` bytes."""
        reading = n * d * itemsize / _BYTES
        moments = cls("moments", 1, 8 * k * d * d, reading + n * d * d / _MULTIPLICATIONS)
        iterations = cls("iterations", _PASSES, 8 * k * d * (_PASSES + 3), 2 * _PASSES * reading)
        if d <= 64 or moments.bytes > budget:
            return moments if d <= 64 else iterations
        return min(moments, iterations, key=lambda way: way.seconds)

    def record(self) -> dict[str, Any]:
        """For the summary."""
        return {"way": self.name, "passes": self.passes, "bytes": self.bytes}


class ClassBlocks:
    """Features and class numbers in blocks, and how many rows of each class every block has."""

    def __init__(self, features: Blocks[Array], codes: Blocks[Ints], k: int) -> None:
        self.features, self.codes, self.k = features, codes, k
        self.counts = np.stack(list(codes.map(_counts, args=(k,))))
        width, self.dtype = features.map(_kind).first()
        self.d, self.n = int(width), int(self.counts.sum())
        self.sizes = self.counts.sum(axis=0)

    def moments(self, classes: Array) -> tuple[ClassMoments, Float64s]:
        """The moments, and the starts of the iterations, in one pass."""
        before = partial(_no_moments, self.k, self.d)
        counts, sums, seconds, starts = self.features.total(_add_moments, self.codes, self._quotas, initial=before)
        return ClassMoments(classes, counts, sums, seconds), starts

    def sums(self) -> Float64s:
        """Σ z of each class."""
        return self.features.total(_add_sums, self.codes, initial=partial(_zeros, self.k, self.d))

    def iterated(self) -> tuple[Float64s, Float64s, int]:
        """Eigenvalues and eigenvectors by iterations in step, and how many passes it took."""
        values, vectors = np.zeros(self.k), np.zeros((self.k, self.d))
        small = np.array([is_small(int(size), self.d) for size in self.sizes])
        if small[self.sizes > 0].any():
            everything = [np.arange(size) for size in self.sizes]
            for j, rows in self.rows(
                {int(j): everything[j] for j in np.flatnonzero(small & (self.sizes > 0))}
            ).items():
                values[j], vectors[j] = top_eigenpair(rows)
        starts = self.features.total(_add_starts, self.codes, self._quotas, initial=partial(_zeros, self.k, self.d))
        runs = {int(j): lanczos_steps(starts[j].astype(self.dtype)) for j in np.flatnonzero(~small)}
        asked, passes = np.zeros((self.k, self.d), dtype=self.dtype), 2
        for j, run in runs.items():
            asked[j] = next(run)
        while runs:
            active = np.isin(np.arange(self.k), list(runs))
            start = partial(_zeros, self.k, self.d)
            images = self.features.total(_add_images, self.codes, args=(asked, active), initial=start)
            passes += 1
            for j, run in list(runs.items()):
                try:
                    asked[j] = run.send(images[j])
                except StopIteration as done:
                    values[j], vectors[j] = done.value
                    del runs[j]
        return values, vectors, passes

    def rows(self, wanted: dict[int, Ints]) -> dict[int, Array]:
        """The rows of these classes at these places within the class, here."""
        ends = np.cumsum(self.counts, axis=0)
        shares: list[dict[int, Ints]] = [{} for _ in self.counts]
        for j, places in wanted.items():
            block = np.searchsorted(ends[:, j], places, side="right")
            inside = places - (ends[block, j] - self.counts[block, j])
            for number in np.unique(block).tolist():
                shares[number][j] = inside[block == number]
        found: dict[int, list[Array]] = {j: [] for j in wanted}
        for part in self.features.map(_rows, self.codes, self.features.from_items(shares), args=(self.k,)):
            for j, rows in part.items():
                found[j].append(rows)
        return {j: np.concatenate(rows) for j, rows in found.items()}

    @property
    def _quotas(self) -> Blocks[Ints]:
        """How many rows of each class, in every block, are among the first of it."""
        first = start_rows(self.d, self.dtype)
        before = np.cumsum(self.counts, axis=0) - self.counts
        return self.features.from_items([*np.clip(first - before, 0, self.counts)])


def pairs_by_moments(moments: ClassMoments, starts: Float64s, dtype: np.dtype[Any]) -> tuple[Float64s, Float64s]:
    """First eigenvalues and eigenvectors."""
    values, vectors = np.zeros(len(starts)), np.zeros(starts.shape)
    for j, gram in enumerate(moments.seconds):
        small = is_small(int(moments.counts[j]), len(gram))  # in memory it is solved directly: as precisely here
        start = starts[j].astype(np.float64 if small else dtype)
        values[j], vectors[j] = eigenpair_by_start(gram, start)
    return values, vectors


def grouped(codes: Ints, weight: Array, rows: Array, k: int) -> Array:
    """Σ w z of each class, K x d.

    >>> grouped(np.array([1, 0, 1]), np.ones(3), np.array([[1.0], [2.0], [4.0]]), 2)
    array([[2.], [5.]])
    """
    return np.asarray(csc_array((weight, codes, np.arange(len(codes) + 1)), shape=(k, len(codes))) @ rows)


def _counts(codes: Ints, k: int) -> Ints:
    return np.bincount(codes, minlength=k)


def _kind(features: Array) -> tuple[int, np.dtype[Any]]:
    return features.shape[1], working_dtype(features.dtype)


def _zeros(k: int, d: int) -> Float64s:
    return np.zeros((k, d))


def _no_moments(k: int, d: int) -> tuple[Float64s, Float64s, Float64s, Float64s]:
    return np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d)), np.zeros((k, d))


def _add_moments(totals: Sequence[Float64s], features: Array, codes: Ints, quota: Ints) -> Any:
    counts, sums, seconds, starts = totals
    precise = features.astype(np.float64) if features.shape[1] <= 64 else features
    ClassMoments(np.arange(len(counts)), counts, sums, seconds).add(precise, codes)
    return counts, sums, seconds, _add_starts(starts, features, codes, quota)


def _add_starts(totals: Float64s, features: Array, codes: Ints, quota: Ints) -> Float64s:
    if quota.any():
        rows = ClassRows.of(codes, len(totals))
        rank = np.arange(len(codes)) - np.repeat(rows.starts[:-1], rows.counts)
        first = np.sort(rows.order[rank < np.repeat(quota, rows.counts)])
        for part in row_chunks(len(first), features.shape[1] * 8):
            chosen = first[part]
            totals += grouped(codes[chosen], np.ones(len(chosen)), features[chosen].astype(np.float64), len(totals))
    return totals


def _add_sums(totals: Float64s, features: Array, codes: Ints) -> Float64s:
    for part in row_chunks(len(features), features.shape[1] * 8):
        rows = features[part].astype(np.float64)
        totals += grouped(codes[part], np.ones(len(rows)), rows, len(totals))
    return totals


def _add_images(totals: Float64s, features: Array, codes: Ints, vectors: Array, active: Array) -> Float64s:
    """Σ z zᵀ v of each class, with its own v."""
    chosen = np.flatnonzero(active[codes])
    if len(chosen) < len(codes):
        features, codes = features[chosen], codes[chosen]
    features = features.astype(vectors.dtype, copy=False)
    inner = np.empty(len(codes), dtype=vectors.dtype)
    for part in row_chunks(len(codes), features.shape[1] * features.itemsize, 1 << 20):
        inner[part] = np.vecdot(features[part], vectors[codes[part]])
    totals += grouped(codes, inner, features, len(totals))
    return totals


def _rows(features: Array, codes: Ints, wanted: dict[int, Ints], k: int) -> dict[int, Array]:
    if not wanted:
        return {}
    rows = ClassRows.of(codes, k)
    return {j: np.array(features[rows[j][places]]) for j, places in wanted.items()}
