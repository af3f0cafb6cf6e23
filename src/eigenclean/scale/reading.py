"""A source as blocks: at every pass, the next block is read in another thread while one is processed."""

import ctypes
import os
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from eigenclean.arrays import Array, not_finite, row_chunks
from eigenclean.detect.blocks import LocalBlocks, rows_per_block
from eigenclean.detect.value_range import (
    OutOfRange,
    choose_exponent,
    is_in_range,
    is_too_large,
    largest_magnitude,
    magnitudes,
    scale,
    too_large_for_fit,
)
from eigenclean.errors import InvalidData
from eigenclean.files import explain_write_errors
from eigenclean.progress import track
from eigenclean.sources import Source
from eigenclean.sources.base import Fingerprint
from eigenclean.sources.read_errors import explain_read_errors

T = TypeVar("T")
_END: Any = object()
_BLOCKS_BETWEEN_RELEASES = 4
_MIN_SPILLED_BYTES = 1 << 20


class SourceBlocks:
    """The blocks of a source, read again at every pass.

    The first pass also looks for values that are not finite or have to be scaled, and takes the fingerprint of the
    data.

    Args:
        source: the rows.
        budget: bytes that sums over the blocks may take.
        spill: move persisted blocks to the disk.
        exponent: the exponent by which a fitted detector scaled its features; None for data to be fitted, for which
            the first pass raises `OutOfRange` if `rescale` is needed.

    Attributes:
        blocks: the features, multiplied by ``2**-exponent``.
        n_passes: how often they have been read so far.
        exponent: 0 for ordinary features.
    """

    def __init__(self, source: Source, *, budget: int, spill: bool = False, exponent: int | None = None) -> None:
        self._source, self.n_passes = source, 0
        self.exponent, self._scaled = exponent or 0, exponent is not None
        width, dtype = source.kind()
        rows = rows_per_block(len(source), width, dtype)
        self.row_ranges = list(row_chunks(len(source), 1, rows))
        self._rows, self._kind = rows, (width, dtype)
        self._fingerprint: str | None = None
        self._checked = False
        self._files = _file_states(source.files)
        self.blocks: LocalBlocks[Array] = LocalBlocks(
            self._pass,
            len(self.row_ranges),
            store=spill_to_disk if spill else None,
            first=lambda: scale(next(self._blocks()), self.exponent),
        )
        self.blocks.budget = budget

    def data_hash(self) -> str:
        """The fingerprint of the data, from the first pass if it is one of labels and features."""
        overridden = type(self._source).data_hash is not Source.data_hash  # for instance by a hash of image files
        return self._source.data_hash() if overridden or self._fingerprint is None else self._fingerprint

    def rescale(self) -> None:
        """Find the exponent that brings the features into range, in a pass of its own."""
        self.check_unchanged()
        self.n_passes += 1
        self.exponent = choose_exponent(map(magnitudes, self._blocks()), by=self._source.name)
        self._scaled = True

    def split_rows(self, values: Array) -> LocalBlocks[Array]:
        """One value per row, split like the features."""
        return self.blocks.from_items([values[rows] for rows in self.row_ranges])

    def check_unchanged(self) -> None:
        """Raise `InvalidData` if a file is not what it was when the run began."""
        for path, before in self._files.items():
            now = _file_states([path])[path]
            if now != before:
                how = "has gone" if now is None else "was changed"
                raise InvalidData(f"{path} {how} during the run; run again when nobody writes to it")

    def _pass(self) -> Iterator[Array]:
        self.check_unchanged()
        self.n_passes += 1
        sizes = [rows.stop - rows.start for rows in self.row_ranges]
        read = prefetch(self._read(not self._checked))
        for number, _ in enumerate(track(self.row_ranges, f"pass {self.n_passes}", sizes, unit="rows")):
            yield next(read)
            if number % _BLOCKS_BETWEEN_RELEASES == 0:
                release_free_memory()
        if next(read, None) is not None:  # so that the reader comes to its end, and checks it
            raise InvalidData(f"{self._source.name} has more rows than when it was opened; open it again")
        self.check_unchanged()

    def _read(self, first: bool) -> Iterator[Array]:
        fingerprint = Fingerprint(self._source.labels) if first else None
        start, largest = 0, 0.0
        for block in self._blocks():
            if (int(block.shape[1]), block.dtype) != self._kind:
                raise InvalidData(
                    f"{self._source.where(start)} is not like the rows before it: {block.dtype} features"
                )
            if fingerprint is not None:
                self._check(block, start)
                fingerprint.add(block)
            scaled = scale(block, self.exponent)
            if first:
                largest = max(largest, self._check_size(block, scaled))
            start += len(block)
            del block
            yield scaled
            del scaled
        if start != len(self._source):
            raise InvalidData(
                f"{self._source.name} has {start} rows where {len(self._source)} were expected; open it again"
            )
        if not self._scaled and not is_in_range(largest, self._kind[1]):
            raise OutOfRange(f"{self._source.name}: the features have to be scaled")
        if fingerprint is not None:
            self._checked, self._fingerprint = True, fingerprint.value()

    def _blocks(self) -> Iterator[Array]:
        with explain_read_errors(self._source.name, "source"):
            yield from self._source.blocks(self._rows)

    def _check_size(self, block: Array, scaled: Array) -> float:
        """The largest absolute value of the scaled block, if it can be computed with."""
        largest = largest_magnitude(scaled)
        if is_too_large(largest, scaled.dtype):
            if self._scaled:
                raise InvalidData(too_large_for_fit(largest_magnitude(block), by=self._source.name))
            raise OutOfRange(f"{self._source.name}: the features have to be scaled")
        return largest

    def _check(self, block: Array, start: int) -> None:
        wrong, row = not_finite(block)
        if wrong:
            raise InvalidData(
                f"{self._source.name}: features must be finite, but {self._source.where(start + row)} has NaN or "
                "infinite values; drop or fill such rows"
            )


def prefetch(items: Iterable[T]) -> Iterator[T]:
    """Yield the same items; while one is processed, another thread computes the next.

    >>> list(prefetch([1, 2, 3]))
    [1, 2, 3]
    """
    iterator = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="reading") as pool:
        pending = [pool.submit(next, iterator, _END)]
        while (item := pending.pop().result()) is not _END:
            pending.append(pool.submit(next, iterator, _END))
            yield item
            del item


def release_free_memory() -> None:
    """Ask the C library to return free memory to the system; otherwise the gaps that blocks leave add up."""
    with suppress(OSError, AttributeError):  # only glibc has the call, and only it needs it
        ctypes.CDLL(None).malloc_trim(0)


def spill_to_disk(item: Any) -> Any:
    """Return the item with its large arrays as memory maps of temporary files, which are deleted with them.

    >>> spill_to_disk(np.zeros(1 << 18)).__class__.__name__, spill_to_disk(np.zeros(3)).__class__.__name__
    ('memmap', 'ndarray')
    """
    if isinstance(item, np.ndarray) and not isinstance(item, np.memmap) and item.base is None:
        return _on_disk(item) if item.nbytes >= _MIN_SPILLED_BYTES else item
    if is_dataclass(item) and not isinstance(item, type):
        return replace(item, **{f.name: spill_to_disk(getattr(item, f.name)) for f in fields(item) if f.init})
    if type(item) in (tuple, list):
        return type(item)(spill_to_disk(element) for element in item)
    return item


def _on_disk(array: Array) -> Array:
    array = np.ascontiguousarray(array)
    with explain_write_errors(tempfile.gettempdir()), tempfile.TemporaryFile(prefix="eigenclean-") as file:
        file.write(array.data)
        file.flush()
        return np.memmap(file, dtype=array.dtype, mode="r", shape=array.shape)


def _file_states(files: Iterable[Path]) -> dict[Path, tuple[int, int] | None]:
    """Return size and time of change of each file; None for a file that does not exist."""
    states: dict[Path, tuple[int, int] | None] = {}
    for path in files:
        try:
            status = os.stat(path)
            states[path] = status.st_size, status.st_mtime_ns
        except OSError:
            states[path] = None
    return states
