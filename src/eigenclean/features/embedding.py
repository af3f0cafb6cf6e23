"""The embedding loop: contents are read and decoded in background threads, encoded in batches, and cached."""

import os
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints
from eigenclean.errors import InvalidData
from eigenclean.features.cache import KEY, NO_KEY, FeatureCache
from eigenclean.features.contents import Contents
from eigenclean.features.encoders.base import Encoder
from eigenclean.progress import track
from eigenclean.sources.images.decode import silent_decoders

_THREADS = min(8, max(2, os.cpu_count() or 1))
_SAVE_SECONDS = 5.0  # a run that is killed loses at most this much work


@dataclass(frozen=True)
class Skipped:
    """A content that was left out because it could not be embedded, and why."""

    row: int
    reason: str

    def __post_init__(self) -> None:
        # File names may hold bytes that are not UTF-8, and the reason is written to UTF-8 files.
        object.__setattr__(self, "reason", self.reason.encode("utf-8", "backslashreplace").decode())


@dataclass(frozen=True, eq=False)
class Embedding:
    """The result of embedding: where the features of each content are in the cache.

    Attributes:
        keys: the cache key of each content; empty where it could not be read.
        rows: row numbers of the contents that have features.
        cache_rows: rows of the cache that hold their features.
        cache: the cache.
        skipped: the contents without features.
        n_computed: how many were computed now; the others were in the cache.
        seconds: how long it took.
    """

    keys: Array
    rows: Ints
    cache_rows: Ints
    cache: FeatureCache
    skipped: list[Skipped] = field(default_factory=list)
    n_computed: int = 0
    seconds: float = 0.0


@dataclass
class _Batch:
    """Consecutive rows that were read and, where the cache has no features for them, prepared for the encoder."""

    rows: range
    keys: Array
    uncached: list[int]  # offsets in ``rows`` of what is in ``prepared``
    prepared: list[Any]
    skipped: list[Skipped]


def embed_contents(
    contents: Contents, encoder: Encoder, cache: FeatureCache, *, strict: bool = False, threads: int = _THREADS
) -> Embedding:
    """Compute the features that the cache does not have yet, and find all features in it.

    What cannot be read is listed in ``skipped``; with ``strict`` the first such content is an error.
    """
    started = time.perf_counter()
    keys = np.full(len(contents), NO_KEY, dtype=KEY)
    skipped: list[Skipped] = []
    n_prepared = 0
    with silent_decoders(), _saving(cache, encoder) as writer:
        for batch in _read_ahead(contents, encoder, cache, threads):
            keys[batch.rows.start : batch.rows.stop] = batch.keys
            skipped += batch.skipped
            if strict:
                _refuse(skipped)
            n_prepared += len(batch.prepared)
            writer.put(batch)
    skipped += writer.skipped
    if strict:
        _refuse(skipped)
    embedded = np.ones(len(contents), dtype=bool)
    embedded[[content.row for content in skipped]] = False
    rows = np.flatnonzero(embedded)
    cache_rows = cache.find(keys[rows])
    assert (cache_rows >= 0).all()
    skipped.sort(key=lambda content: content.row)
    n_computed = n_prepared - len(writer.skipped)
    return Embedding(keys, rows, cache_rows, cache, skipped, n_computed, time.perf_counter() - started)


def _refuse(skipped: list[Skipped]) -> None:
    if skipped:
        first = min(skipped, key=lambda content: content.row)
        raise InvalidData(f"{first.reason} (and --strict stops at the first)")


def _read_ahead(contents: Contents, encoder: Encoder, cache: FeatureCache, threads: int) -> Iterator[_Batch]:
    """All rows in order, a batch at a time; background threads read the next batches while one is encoded."""
    n_rows, step, min_side = len(contents), encoder.batch, encoder.min_side()

    def load(rows: range) -> _Batch:
        read: list[Any] = [None] * len(rows)
        keys = np.full(len(rows), NO_KEY, dtype=KEY)
        skipped: list[Skipped] = []
        for offset, row in enumerate(rows):
            try:
                read[offset] = contents.read(row)
                keys[offset] = contents.key(read[offset])
            except InvalidData as error:
                skipped.append(Skipped(row, str(error)))
        uncached, prepared = [], []
        for offset in np.flatnonzero((cache.find(keys) < 0) & (keys != NO_KEY)).tolist():
            try:
                prepared.append(encoder.prepare(contents.decode(read[offset], rows[offset], min_side)))
                uncached.append(offset)
            except InvalidData as error:
                skipped.append(Skipped(rows[offset], str(error)))
        return _Batch(rows, keys, uncached, prepared, skipped)

    ranges = [range(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
    pending: deque[Future[_Batch]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="eigenclean-read") as pool:
        try:
            # One more than there are threads, so that none of them waits for the encoder.
            upcoming = iter(ranges)
            pending.extend(pool.submit(load, rows) for rows in islice(upcoming, threads + 1))
            unit = f"{contents.kind}s"
            for _ in track(ranges, f"embedding {unit}", sizes=[len(rows) for rows in ranges], unit=unit):
                batch = pending.popleft().result()
                pending.extend(pool.submit(load, rows) for rows in islice(upcoming, 1))
                yield batch
        finally:
            for future in pending:
                future.cancel()


class _Writer:
    """Collects prepared contents into full batches, encodes them and adds the features to the cache."""

    def __init__(self, cache: FeatureCache, encoder: Encoder) -> None:
        self._cache, self._encoder = cache, encoder
        self._keys = np.empty(0, dtype=KEY)
        self._rows = np.empty(0, dtype=np.intp)
        self._prepared: list[Any] = []
        self._saved = time.monotonic()
        self.skipped: list[Skipped] = []

    def put(self, batch: _Batch) -> None:
        if not batch.prepared:
            return
        self._keys = np.concatenate([self._keys, batch.keys[batch.uncached]])
        self._rows = np.concatenate([self._rows, np.array(batch.uncached) + batch.rows.start])
        self._prepared += batch.prepared
        while len(self._prepared) >= self._encoder.batch:
            self.encode()

    def encode(self) -> None:
        """Encode the next batch; the last one may be smaller."""
        first = slice(self._encoder.batch)
        keys, rows, prepared = self._keys[first], self._rows[first], self._prepared[first]
        if not prepared:
            return
        rest = slice(self._encoder.batch, None)
        self._keys, self._rows, self._prepared = self._keys[rest], self._rows[rest], self._prepared[rest]
        features = self._encoder.encode(prepared)
        finite = np.isfinite(features).all(axis=1)
        for row in rows[~finite].tolist():
            self.skipped.append(
                Skipped(row, f"row {row}: the encoder {self._encoder.name} gave numbers that are not finite")
            )
        if finite.any():
            self._cache.add(keys[finite], features[finite])
        if time.monotonic() - self._saved > _SAVE_SECONDS:
            self._cache.flush()
            self._saved = time.monotonic()


@contextmanager
def _saving(cache: FeatureCache, encoder: Encoder) -> Iterator[_Writer]:
    """A writer whose features are on the disk after the block, also when it was interrupted."""
    writer = _Writer(cache, encoder)
    try:
        yield writer
        writer.encode()
    finally:
        cache.flush()
        cache.refresh()
