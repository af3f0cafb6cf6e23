"""The first eigenvector of every class from rows in blocks, by the strategy that costs least and fits into memory.

The strategies give equal vectors, from the same start and to the same precision:

* *rows*: the rows of one class after the other, by `top_eigenpair`. For blocks in memory, and where only a subset
  of each class is needed.
* *moments*: Σ z zᵀ of every class in one pass. They add up, but take K·d² numbers and d multiplications per number.
* *iterations*: the Lanczos iterations of all classes in step. Each takes a pass, but K·d numbers are enough.
* *sums*: Σ z of every class in one pass, for the direction of the mean in place of an eigenvector.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_array

from eigenclean.arrays import Array, ClassRows, Float64s, Ints, gather, row_chunks, working_dtype
from eigenclean.detect.blocks import Blocks
from eigenclean.moments import (
    ClassMoments,
    LanczosIteration,
    eigenpair_by_start,
    is_small,
    start_rows,
    top_eigenpair,
)

# Rough speeds of one core, by which strategies are compared.
_MULTIPLICATIONS = 2.5e10  # a second, in a product of matrices
_BYTES = 1.5e9  # a second, of reading and of going through them once
_PASSES = 6  # of the iterations: most classes need four or five


@dataclass(frozen=True)
class EigenvectorStrategy:
    """How the class vectors are computed, and the expected cost.

    >>> EigenvectorStrategy.choose(n=1_280_000, d=2048, k=1000, itemsize=4, budget=1 << 30).name
    'iterations'
    >>> EigenvectorStrategy.choose(n=1_000_000, d=128, k=10, itemsize=4, budget=1 << 30).name
    'moments'
    """

    name: Literal["moments", "iterations", "rows", "sums"]
    passes: int
    bytes: int
    seconds: float

    @classmethod
    def choose(cls, *, n: int, d: int, k: int, itemsize: int, budget: int) -> "EigenvectorStrategy":
        """The faster of moments and iterations, if its sums fit into ``budget`` bytes."""
        reading = n * d * itemsize / _BYTES
        moments = cls("moments", 1, 8 * k * d * d, reading + n * d * d / _MULTIPLICATIONS)
        iterations = cls("iterations", _PASSES, 8 * k * d * (_PASSES + 3), 2 * _PASSES * reading)
        if d <= 64 or moments.bytes > budget:
            return moments if d <= 64 else iterations
        return min(moments, iterations, key=lambda strategy: strategy.seconds)

    def record(self) -> dict[str, Any]:
        """Plain values for the summary; ``way`` is the name of ``strategy`` until version 0.3.0."""
        return {"strategy": self.name, "way": self.name, "passes": self.passes, "bytes": self.bytes}


class ClassBlocks:
    """Features and class numbers in blocks, and how many rows of each class every block has."""

    def __init__(self, features: Blocks[Array], codes: Blocks[Ints], k: int) -> None:
        self.features, self.codes, self.k = features, codes, k
        self.counts = np.stack(list(codes.map(_counts, args=(k,))))
        width, self.dtype = features.map(_width_and_dtype).first()
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

    def iterate(self) -> tuple[Float64s, Float64s, int]:
        """Eigenvalues and eigenvectors by Lanczos iterations in step, and the number of passes that it took."""
        values, vectors = np.zeros(self.k), np.zeros((self.k, self.d))
        small = np.array([is_small(int(size), self.d) for size in self.sizes])
        solved_directly = np.flatnonzero(small & (self.sizes > 0)).tolist()
        if solved_directly:
            for j, rows in self.rows(dict.fromkeys(solved_directly)):
                values[j], vectors[j] = top_eigenpair(rows)
        zeros = partial(_zeros, self.k, self.d)
        starts = self.features.total(_add_starts, self.codes, self._quotas, initial=zeros)
        iterations = {int(j): LanczosIteration(starts[j].astype(self.dtype)) for j in np.flatnonzero(~small)}
        current, passes = np.zeros((self.k, self.d), dtype=self.dtype), 2
        while iterations:
            for j, iteration in iterations.items():
                current[j] = iteration.vector
            active = np.isin(np.arange(self.k), list(iterations))
            images = self.features.total(_add_images, self.codes, args=(current, active), initial=zeros)
            passes += 1
            for j, iteration in list(iterations.items()):
                iteration.update(images[j])
                if iteration.done:
                    values[j], vectors[j] = iteration.eigenpair
                    del iterations[j]
        return values, vectors, passes

    def rows(self, positions: Mapping[int, Ints | None]) -> Iterator[tuple[int, Array]]:
        """The rows of these classes at these positions within the class (None for all), in working precision.

        From blocks in memory, the rows of one class at a time are gathered in a shared buffer. Other blocks are
        read in one pass, which holds the rows of all these classes.
        """
        if self.features.in_memory:
            yield from self._rows_in_memory(positions)
            return
        ends = np.cumsum(self.counts, axis=0)
        selected: list[dict[int, Ints]] = [{} for _ in self.counts]
        for j, chosen in positions.items():
            chosen = np.arange(self.sizes[j]) if chosen is None else chosen
            block = np.searchsorted(ends[:, j], chosen, side="right")
            within = chosen - (ends[block, j] - self.counts[block, j])
            for number in np.unique(block).tolist():
                selected[number][j] = within[block == number]
        gathered: dict[int, list[Array]] = {j: [] for j in positions}
        for rows_of_class in self.features.map(
            _select_rows, self.codes, self.features.from_items(selected), args=(self.k,)
        ):
            for j, rows in rows_of_class.items():
                gathered[j].append(rows)
        for j, chunks in gathered.items():
            if chunks:
                yield j, np.concatenate(chunks).astype(self.dtype, copy=False)

    def _rows_in_memory(self, positions: Mapping[int, Ints | None]) -> Iterator[tuple[int, Array]]:
        blocks = [
            (block, ClassRows.of(codes, self.k)) for block, codes in zip(self.features, self.codes, strict=True)
        ]
        buffer = np.empty((int(self.sizes.max()), self.d), self.dtype)
        for j, chosen in positions.items():
            filled = [(block, rows[j]) for block, rows in blocks if rows.counts[j]]
            if len(filled) == 1:  # without a copy, if the rows are consecutive
                block, rows = filled[0]
                yield j, gather(block, rows if chosen is None else rows[chosen], self.dtype, buffer)
                continue
            end = 0
            for block, rows in filled:
                start, end = end, end + len(rows)
                buffer[start:end] = gather(block, rows, self.dtype)
            yield j, buffer[:end] if chosen is None else buffer[chosen]

    def split_by_class(self, values: Array) -> list[Array]:
        """One value per row, split into the values of each class, in the order of the rows."""
        rows = ClassRows.of(np.concatenate(list(self.codes)), self.k)
        return [values[rows[j]] for j in range(self.k)]

    def class_moments(self, classes: Array, weights: Blocks[Float64s] | None) -> ClassMoments:
        """Weighted moments in the precision of the rows, as `ClassMoments.of` computes them."""
        moments = ClassMoments.none(classes, self.d)
        weight_blocks = [None] * len(self.counts) if weights is None else list(weights)
        for block, codes, weight in zip(self.features, self.codes, weight_blocks, strict=True):
            moments.add(block, codes, weight)
        return moments

    @property
    def _quotas(self) -> Blocks[Ints]:
        """How many rows of each class, in every block, are among the first of it."""
        first = start_rows(self.d, self.dtype)
        before = np.cumsum(self.counts, axis=0) - self.counts
        return self.features.from_items([*np.clip(first - before, 0, self.counts)])


def pairs_by_moments(moments: ClassMoments, starts: Float64s, dtype: np.dtype[Any]) -> tuple[Float64s, Float64s]:
    """The first eigenvalue and eigenvector of each class, from second moments."""
    values, vectors = np.zeros(len(starts)), np.zeros(starts.shape)
    for j, gram in enumerate(moments.seconds):
        small = is_small(int(moments.counts[j]), len(gram))  # in memory it is solved directly: as precisely here
        start = starts[j].astype(np.float64 if small else dtype)
        values[j], vectors[j] = eigenpair_by_start(gram, start)
    return values, vectors


def weighted_class_sums(codes: Ints, weight: Array, rows: Array, k: int) -> Array:
    """Σ w z of each class, K x d.

    >>> weighted_class_sums(np.array([1, 0, 1]), np.ones(3), np.array([[1.0], [2.0], [4.0]]), 2)
    array([[2.], [5.]])
    """
    return np.asarray(csc_array((weight, codes, np.arange(len(codes) + 1)), shape=(k, len(codes))) @ rows)


def _counts(codes: Ints, k: int) -> Ints:
    return np.bincount(codes, minlength=k)


def _width_and_dtype(features: Array) -> tuple[int, np.dtype[Any]]:
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
        for chunk in row_chunks(len(first), features.shape[1] * 8):
            chosen = first[chunk]
            totals += weighted_class_sums(
                codes[chosen], np.ones(len(chosen)), features[chosen].astype(np.float64), len(totals)
            )
    return totals


def _add_sums(totals: Float64s, features: Array, codes: Ints) -> Float64s:
    for chunk in row_chunks(len(features), features.shape[1] * 8):
        rows = features[chunk].astype(np.float64)
        totals += weighted_class_sums(codes[chunk], np.ones(len(rows)), rows, len(totals))
    return totals


def _add_images(totals: Float64s, features: Array, codes: Ints, vectors: Array, active: Array) -> Float64s:
    """Σ z zᵀ v of each class, with its own v."""
    chosen = np.flatnonzero(active[codes])
    if len(chosen) < len(codes):
        features, codes = features[chosen], codes[chosen]
    features = features.astype(vectors.dtype, copy=False)
    inner = np.empty(len(codes), dtype=vectors.dtype)
    for chunk in row_chunks(len(codes), features.shape[1] * features.itemsize, 1 << 20):
        inner[chunk] = np.vecdot(features[chunk], vectors[codes[chunk]])
    totals += weighted_class_sums(codes, inner, features, len(totals))
    return totals


def _select_rows(features: Array, codes: Ints, positions: dict[int, Ints], k: int) -> dict[int, Array]:
    if not positions:
        return {}
    rows = ClassRows.of(codes, k)
    return {j: np.array(features[rows[j][chosen]]) for j, chosen in positions.items()}
