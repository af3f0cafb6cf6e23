"""Blocks of rows as Dask tasks, made from Dask arrays, Dask data frames or sources."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np

from eigenclean.arrays import Array, Ints, check_labels, check_table, locate_labels, not_finite, row_chunks
from eigenclean.detect import Detector
from eigenclean.detect.blocks import SPLIT_EVERY, Blocks, add, rows_per_block
from eigenclean.detect.value_range import (
    choose_exponent,
    is_in_range,
    is_too_large,
    largest_magnitude,
    magnitudes,
    too_large_for_fit,
)
from eigenclean.errors import InvalidData
from eigenclean.extras import require
from eigenclean.sources import Source
from eigenclean.sources.base import Reader

T = TypeVar("T")
U = TypeVar("U")


class DaskBlocks(Blocks[T]):
    """Blocks as Dask tasks, on whatever scheduler is current; persisted blocks stay with the workers.

    Args:
        tasks: Dask objects, one per block.
    """

    def __init__(self, tasks: Sequence[Any]) -> None:
        self.tasks = list(tasks)
        self._dask: Any = require("dask", extra="dask", caller="the dask engine")

    def map(self, function: Callable[..., U], *others: Blocks[Any], args: Sequence[Any] = ()) -> "DaskBlocks[U]":
        """Apply a function to every block, as one task of the cluster each; nothing is computed yet."""
        return self._with_tasks(self._calls(function, others, args))

    def persist(self) -> "DaskBlocks[T]":
        """Compute the blocks on the workers now; Dask computes them again if a worker is lost."""
        return self._with_tasks(self._dask.persist(*self.tasks))

    def total(
        self,
        function: Callable[..., U],
        *others: Blocks[Any],
        args: Sequence[Any] = (),
        initial: Callable[[], U] | None = None,
    ) -> U:
        """A tree of sums in the order of `TreeSum`; within a branch one after the other, so that few are held."""
        sums = self._calls(function if initial is None else _WithInitial(function, initial), others, args)
        # Large summands get a task per addition, so that each can be released early; for small ones a task per
        # branch is enough.
        add_two = self._dask.delayed(add, pure=False)
        branch = self._dask.delayed(_add_all, pure=False) if initial is None else partial(reduce, add_two)
        while len(sums) > 1:
            sums = [branch(sums[i : i + SPLIT_EVERY]) for i in range(0, len(sums), SPLIT_EVERY)]
        result: U = self._dask.compute(sums[0])[0]
        return result

    def from_items(self, items: Sequence[U]) -> "DaskBlocks[U]":
        """Items of this process as blocks beside these, one for each block."""
        return self._with_tasks([self._constant(item) for item in items])

    def first(self) -> T:
        """Compute the first block only."""
        result: T = self._dask.compute(self.tasks[0])[0]
        return result

    def __iter__(self) -> Iterator[T]:
        return iter(self._dask.compute(*self.tasks))

    def __len__(self) -> int:
        return len(self.tasks)

    def _calls(self, function: Callable[..., U], others: Sequence[Blocks[Any]], args: Sequence[Any]) -> list[Any]:
        call = self._dask.delayed(function, pure=False, traverse=False)
        constants = [self._constant(value) for value in args]
        columns = [other.tasks for other in others if isinstance(other, DaskBlocks)]
        assert len(columns) == len(others)
        return [call(*blocks, *constants) for blocks in zip(self.tasks, *columns, strict=True)]

    def _constant(self, value: Any) -> Any:
        # Part of the graph rather than scattered: scattered values are lost with their worker.
        return self._dask.delayed(value, name=f"constant-{uuid.uuid4().hex}", traverse=False)

    def _with_tasks(self, tasks: Sequence[Any]) -> "DaskBlocks[Any]":
        blocks: DaskBlocks[Any] = DaskBlocks(tasks)
        blocks.budget = self.budget
        return blocks


class _WithInitial:
    """The sum of one block, for a function that adds to an accumulator; a class, so that it can be pickled."""

    def __init__(self, function: Callable[..., Any], initial: Callable[[], Any]) -> None:
        self._function, self._initial = function, initial

    def __call__(self, *blocks: Any) -> Any:
        return self._function(self._initial(), *blocks)


def _add_all(sums: Sequence[Any]) -> Any:
    return reduce(add, sums)


@dataclass(frozen=True)
class DaskFeatures:
    """Features as blocks on the workers.

    Attributes:
        blocks: the rows; values that are not finite raise `InvalidData` when a block is computed.
        sizes: number of rows of each block.
        width: number of columns.
        nbytes: size of all blocks together.
    """

    blocks: DaskBlocks[Array]
    sizes: list[int]
    width: int
    nbytes: int

    @classmethod
    def of_source(cls, source: Source) -> "DaskFeatures":
        """Blocks that the workers read from the files of a source, which they must be able to open."""
        dask: Any = require("dask", extra="dask", caller="--engine dask")
        width, dtype = source.kind()
        row_ranges = list(row_chunks(len(source), 1, rows_per_block(len(source), width, dtype)))
        reader = dask.delayed(source.reader(), name=f"reader-{uuid.uuid4().hex}", traverse=False)
        read = dask.delayed(_read_finite, pure=False)
        blocks: DaskBlocks[Array] = DaskBlocks(
            [read(reader, rows.start, rows.stop, source.name) for rows in row_ranges]
        )
        sizes = [rows.stop - rows.start for rows in row_ranges]
        return cls(blocks, sizes, width, len(source) * width * dtype.itemsize)

    @classmethod
    def of_array(cls, features: Any) -> "DaskFeatures":
        """Blocks of a Dask array or data frame, cut where they would be cut in memory: the verdict is the same."""
        if hasattr(features, "to_dask_array"):
            features = features.to_dask_array(lengths=True)
        if not hasattr(features, "to_delayed"):
            raise InvalidData(
                f"judge_dask: features must be a Dask array or data frame, got {type(features).__name__}"
            )
        check_table(features, by="judge_dask")
        if np.isnan(features.shape[0]):
            features = features.compute_chunk_sizes()
        n, width = map(int, features.shape)
        features = features.rechunk((rows_per_block(n, width, features.dtype), width))
        dask: Any = require("dask", extra="dask", caller="judge_dask")
        check = dask.delayed(_check_finite, pure=False)
        sizes = [int(size) for size in features.chunks[0]]
        chunks = features.to_delayed().ravel()
        blocks: DaskBlocks[Array] = DaskBlocks(
            [check(chunk, rows.start) for chunk, rows in zip(chunks, slices(sizes), strict=True)]
        )
        return cls(blocks, sizes, width, n * width * features.dtype.itemsize)


def encode_label_blocks(
    blocks: DaskBlocks[Array], sizes: Sequence[int], labels: Any, fitted: Detector | None
) -> tuple[Array, DaskBlocks[Ints]]:
    """Return the sorted classes, and the class index of each label in blocks like those of the features.

    Args:
        blocks: the features.
        sizes: number of rows of each block.
        labels: a Dask array or series, which stays with the workers, or an array.
        fitted: a fitted detector whose classes are used; None finds the classes in the labels.
    """
    n = sum(sizes)
    if labels is None:
        raise InvalidData("judge_dask: there are no labels; give labels=...")
    if hasattr(labels, "to_dask_array"):
        labels = labels.to_dask_array(lengths=True)
    if hasattr(labels, "to_delayed"):
        if np.isnan(labels.shape[0]):
            labels = labels.compute_chunk_sizes()
        if labels.shape != (n,):
            raise InvalidData(
                f"judge_dask: features and labels must have equal length, got {n} rows and {labels.shape}"
            )
        label_blocks = DaskBlocks(labels.rechunk((tuple(sizes),)).to_delayed().ravel()).map(_check_labels)
    else:
        array = check_labels(labels, by="judge_dask", n_rows=n)
        label_blocks = blocks.from_items([array[rows] for rows in slices(sizes)])
    classes = np.unique(np.concatenate(list(label_blocks.map(np.unique)))) if fitted is None else fitted.classes_
    return classes, label_blocks.map(_class_indices, args=(classes,)).persist()


def feature_exponent(blocks: DaskBlocks[Array], fitted: Detector | None) -> int:
    """The exponent by which the features have to be scaled, or were in fit, see `eigenclean.detect.value_range`."""
    kinds = list(blocks.map(_largest_and_dtype))
    largest, dtype = max(largest for largest, _ in kinds), kinds[0][1]
    if fitted is None:
        return 0 if is_in_range(largest, dtype) else choose_exponent(blocks.map(magnitudes), by="judge_dask")
    if is_too_large(float(np.ldexp(largest, -fitted.feature_exponent_)), dtype):
        raise InvalidData(too_large_for_fit(largest, by="judge_dask"))
    return fitted.feature_exponent_


def slices(sizes: Sequence[int]) -> list[slice]:
    """Return the rows of each block.

    >>> slices([3, 2])
    [slice(0, 3, None), slice(3, 5, None)]
    """
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _read_finite(reader: Reader, start: int, stop: int, name: str) -> Array:
    block = reader.read(start, stop)
    wrong, row = not_finite(block)
    if wrong:
        where = reader.where(start + row)
        raise InvalidData(
            f"{name}: features must be finite, but {where} has NaN or infinite values; drop or fill such rows"
        )
    return block


def _check_finite(block: Array, start: int) -> Array:
    wrong, row = not_finite(block)
    if wrong:
        raise InvalidData(
            f"judge_dask: features must be finite, but row {start + row} has NaN or infinite values; "
            "drop or fill such rows"
        )
    return block


def _largest_and_dtype(block: Array) -> tuple[float, np.dtype[Any]]:
    return largest_magnitude(block), block.dtype


def _check_labels(labels: Array) -> Array:
    return check_labels(labels, by="judge_dask")


def _class_indices(labels: Array, classes: Array) -> Ints:
    return locate_labels(labels, classes, by="judge_dask")
