"""On a cluster: the detectors' own blocks as Dask tasks. This is all of the engine; Dask does the rest."""

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone

from eigenclean.arrays import (
    Array,
    Bools,
    Float64s,
    Ints,
    check_labels,
    check_table,
    locate_labels,
    not_finite,
    row_chunks,
)
from eigenclean.detect import Detector, as_block_detector, detector
from eigenclean.detect.blocks import SPLIT_EVERY, Blocks, add, rows_per_block
from eigenclean.detect.decisions import Decision
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.extras import require
from eigenclean.files import make_folder
from eigenclean.scale.resources import free_memory
from eigenclean.sources import Source
from eigenclean.sources.base import Reader
from eigenclean.verdict import Verdict, join, ranks, write_table

T = TypeVar("T")
U = TypeVar("U")
_SHARE = 0.3  # of the workers' memory that features may take; they have tables to keep as well
# Dask asks the C library of its workers to give back all memory at once, and what is not kept must be had anew,
# which takes as long as the work on it.
_ALLOCATION = {
    f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": size
    for name, size in (("TRIM", 1 << 28), ("MMAP", 1 << 25))
}
_PATIENCE = "10s"  # with a scheduler that does not answer


class DaskBlocks(Blocks[T]):
    """Blocks as Dask tasks, on whatever scheduler is current; persisted blocks stay with the workers.

    Args:
        tasks: Dask objects, one per block.
    """

    def __init__(self, tasks: Sequence[Any]) -> None:
        self.tasks = list(tasks)
        self._dask: Any = require("dask", extra="dask", caller="the dask engine")

    def map(self, function: Callable[..., U], *others: Blocks[Any], args: Sequence[Any] = ()) -> "DaskBlocks[U]":
        """One task per block."""
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
        """One task per item."""
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


@dataclass(frozen=True)
class DaskVerdict:
    """A verdict whose rows are still with the workers.

    Attributes:
        frames: an Arrow table for each block, as Dask objects.
        judge: the fitted detector.
        made_by: how the verdict came about.
        engine: plain facts for the summary.
        n_flagged: how many labels look wrong.
    """

    frames: DaskBlocks[Any]
    judge: Detector
    made_by: Mapping[str, Any]
    engine: Mapping[str, Any]
    n_flagged: int

    def compute(self) -> Verdict:
        """All of it in the memory of this process."""
        return join(list(self.frames))

    def to_parquet(self, folder: Path) -> Path:
        """A new folder of Parquet files, one a block, written by the workers: they must see the folder too."""
        make_folder(folder)
        paths = [folder / f"part-{number:05d}.parquet" for number in range(len(self.frames))]
        self.frames.total(_write_part, self.frames.from_items(paths))
        return folder


def judge_dask(
    features: Any,
    labels: Any = None,
    *,
    ids: Any = None,
    judge: Detector | None = None,
    decision: Decision | None = None,
) -> DaskVerdict:
    """Judge rows on a Dask cluster, on the current client or else Dask's default scheduler.

    Args:
        features: a Dask array (n x d) or data frame, or a source that `eigenclean.open_source` opened, such as a
            folder of Parquet files that all workers can read.
        labels: a Dask array or series, or an array; left out for a source, which has its own.
        ids: an array of unique ids; by default 0, 1, 2, …, or those of the source.
        judge: the detector; one that is fitted judges by what it knows. None takes the default judge.
        decision: which labels to flag; None takes the detector's own threshold.
    """
    judge = detector() if judge is None else judge
    fitted = judge.__sklearn_is_fitted__()
    judge = as_block_detector(judge if fitted else clone(judge))
    with _without_graph_warning():
        made = _source_blocks(features) if isinstance(features, Source) else _array_blocks(features)
        blocks, sizes = made.blocks, made.sizes
        if made.bytes <= _SHARE * _memory_of_workers():
            blocks = blocks.persist()  # read and checked once
        if isinstance(features, Source):
            labels = features.labels if labels is None else labels
            ids = features.ids if ids is None else ids
        blocks.budget = free_memory() // 4
        classes, codes = _codes(blocks, sizes, labels, judge if fitted else None)
        if fitted:
            block_scores = judge.score_blocks(blocks, codes)
        else:
            block_scores = judge.fit_blocks(blocks, codes, classes, made.width)
        # The cut is fitted here, to all scores: nothing else of the size of the data comes to this process.
        kept = block_scores.scores.persist()
        scores, here = np.concatenate(list(kept)), np.concatenate(list(codes))
        if not fitted:
            judge.fit_cut_to_scores(scores, here)
        result = judge.apply_decision(scores, here, decision)
        rank, parts = ranks(result.p_clean, scores), _parts(sizes)
        flagged = blocks.from_items([result.flagged[part] for part in parts])
        suggestions = block_scores.suggest(flagged.map(np.flatnonzero), result.cut)
        own_ids = np.arange(len(scores)) if ids is None else np.asarray(ids)
        beside = [blocks.from_items([values[part] for part in parts]) for values in (own_ids, result.p_clean, rank)]
        given = (judge.classes_, result.made_by)
        frames = kept.map(_frame, codes, flagged, suggestions, *beside, args=given).persist()
        assert isinstance(frames, DaskBlocks)
    engine: dict[str, Any] = {"name": "dask", "blocks": len(blocks)}
    if "vectors" in result.made_by:
        engine["vectors"] = result.made_by["vectors"]
    return DaskVerdict(frames, judge, result.made_by, engine, int(result.flagged.sum()))


@contextmanager
def cluster(scheduler: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """A client of the scheduler at that address, or of a cluster of processes on this machine."""
    distributed: Any = require("distributed", extra="dask", caller="--engine dask")
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout=_PATIENCE, set_as_default=True)
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InvalidOption(
                f"--scheduler: there is no Dask scheduler at {scheduler} ({reason}); start one with "
                "`dask scheduler`"
            ) from None
        with client:
            yield client
        return
    config: Any = require("dask", extra="dask", caller="--engine dask").config
    with (
        config.set(_ALLOCATION),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=None,
            host="127.0.0.1",
            silence_logs=logging.ERROR,  # a worker that closes slowly is no news to the user
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


class _DaskFeatures(NamedTuple):
    """Features as blocks, how many rows each has, their size in bytes all together, and their number of columns."""

    blocks: DaskBlocks[Array]
    sizes: list[int]
    bytes: int
    width: int


def _memory_of_workers() -> int:
    """What they may use, as far as they say; 0 where there is no cluster."""
    distributed: Any = find_spec("distributed") and import_module("distributed")
    try:
        workers = distributed.get_client().scheduler_info(n_workers=-1)["workers"].values() if distributed else ()
    except ValueError:  # Dask's own schedulers have no client
        return 0
    return sum(int(worker.get("memory_limit") or 0) for worker in workers)


class _WithInitial:
    """The sum of one block, for a function that adds to an accumulator; a class, so that it can be pickled."""

    def __init__(self, function: Callable[..., Any], initial: Callable[[], Any]) -> None:
        self._function, self._initial = function, initial

    def __call__(self, *blocks: Any) -> Any:
        return self._function(self._initial(), *blocks)


def _add_all(sums: Sequence[Any]) -> Any:
    return reduce(add, sums)


def _source_blocks(source: Source) -> _DaskFeatures:
    dask: Any = require("dask", extra="dask", caller="--engine dask")
    width, dtype = source.kind()
    parts = list(row_chunks(len(source), 1, rows_per_block(len(source), width, dtype)))
    reader = dask.delayed(source.reader(), name=f"reader-{uuid.uuid4().hex}", traverse=False)
    read = dask.delayed(_read, pure=False)
    blocks: DaskBlocks[Array] = DaskBlocks([read(reader, part.start, part.stop, source.name) for part in parts])
    return _DaskFeatures(
        blocks, [part.stop - part.start for part in parts], len(source) * width * dtype.itemsize, width
    )


def _array_blocks(features: Any) -> _DaskFeatures:
    """Blocks of a Dask array, cut where they would be cut in memory, so that the verdict is the same."""
    if hasattr(features, "to_dask_array"):
        features = features.to_dask_array(lengths=True)
    if not hasattr(features, "to_delayed"):
        raise InvalidData(f"judge_dask: features must be a Dask array or data frame, got {type(features).__name__}")
    check_table(features, by="judge_dask")
    if np.isnan(features.shape[0]):
        features = features.compute_chunk_sizes()
    n, width = map(int, features.shape)
    features = features.rechunk((rows_per_block(n, width, features.dtype), width))
    dask: Any = require("dask", extra="dask", caller="judge_dask")
    check = dask.delayed(_checked, pure=False)
    sizes = [int(size) for size in features.chunks[0]]
    starts = np.cumsum([0, *sizes]).tolist()
    parts = features.to_delayed().ravel()
    blocks: DaskBlocks[Array] = DaskBlocks([check(*one) for one in zip(parts, starts, strict=False)])
    return _DaskFeatures(blocks, sizes, n * width * features.dtype.itemsize, width)


def _codes(
    blocks: DaskBlocks[Array], sizes: list[int], labels: Any, fitted: Detector | None
) -> tuple[Array, DaskBlocks[Ints]]:
    n = sum(sizes)
    if labels is None:
        raise InvalidData("judge_dask: there are no labels; give labels=...")
    if hasattr(labels, "to_dask_array"):
        labels = labels.to_dask_array(lengths=True)
    if hasattr(labels, "to_delayed"):  # a Dask array: labels stay where they are
        if np.isnan(labels.shape[0]):
            labels = labels.compute_chunk_sizes()
        if labels.shape != (n,):
            raise InvalidData(
                f"judge_dask: features and labels must have equal length, got {n} rows and {labels.shape}"
            )
        given = DaskBlocks(labels.rechunk((tuple(sizes),)).to_delayed().ravel()).map(_checked_labels)
    else:
        array = check_labels(labels, by="judge_dask", n_rows=n)
        given = blocks.from_items([array[part] for part in _parts(sizes)])
    classes = fitted.classes_ if fitted is not None else np.unique(np.concatenate(list(given.map(np.unique))))
    return classes, given.map(_located, args=(classes,)).persist()


def _parts(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _read(reader: Reader, start: int, stop: int, name: str) -> Array:
    block = reader.read(start, stop)
    wrong, row = not_finite(block)
    if wrong:
        where = reader.where(start + row)
        raise InvalidData(
            f"{name}: features must be finite, but {where} has NaN or infinite values; drop or fill such rows"
        )
    return block


def _checked(block: Array, start: int) -> Array:
    wrong, row = not_finite(block)
    if wrong:
        raise InvalidData(
            f"judge_dask: features must be finite, but row {start + row} has NaN or infinite values; "
            "drop or fill such rows"
        )
    return block


def _checked_labels(labels: Array) -> Array:
    return check_labels(labels, by="judge_dask")


def _located(labels: Array, classes: Array) -> Ints:
    return locate_labels(labels, classes, by="judge_dask")


def _frame(
    scores: Float64s,
    codes: Ints,
    flagged: Bools,
    suggestion: tuple[Ints, Float64s],
    ids: Array,
    p_clean: Float64s,
    rank: Ints,
    classes: Array,
    made_by: Mapping[str, Any],
) -> Any:
    verdict = Verdict.assemble(
        ids=ids,
        classes=classes,
        codes=codes,
        score=scores,
        p_clean=p_clean,
        flagged=flagged,
        suggestions=suggestion,
        made_by=made_by,
    )
    return verdict.to_frame(rank)


def _write_part(table: Any, path: Path) -> int:
    write_table(table, path)
    return 1


@contextmanager
def _without_graph_warning() -> Iterator[None]:
    """Dask warns about large graphs; discriminants of a thousand classes make one."""
    dask: Any = require("dask", extra="dask", caller="judge_dask")
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "10GB"}):
        yield
