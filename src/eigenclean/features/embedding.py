"""The loop: contents are read and decoded in background threads, encoded in batches, and remembered."""

import os
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
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
class Bad:
    """A content that could not be embedded, and why."""

    row: int
    reason: str

    def __post_init__(self) -> None:
        # Names of files may hold bytes that are no text, and this goes into files that are.
        object.__setattr__(self, "reason", self.reason.encode("utf-8", "backslashreplace").decode())


@dataclass(frozen=True, eq=False)
class Embedding:
    """What came of embedding.

    Attributes:
        keys: the key of each content; empty where it could not be read.
        rows: row numbers of the contents that have features.
        places: where their features are in the cache.
        cache: where the features are.
        bad: the others.
        n_new: how many were computed now; the rest was known.
        seconds: how long it took.
    """

    keys: Array
    rows: Ints
    places: Ints
    cache: FeatureCache
    bad: list[Bad] = field(default_factory=list)
    n_new: int = 0
    seconds: float = 0.0


@dataclass
class _Piece:
    """Some rows, read and, where their features are not known, prepared."""

    rows: range
    keys: Array
    places: list[int]  # of what is prepared, among the rows
    prepared: list[Any]
    bad: list[Bad]


def embed_contents(
    contents: Contents, encoder: Encoder, cache: FeatureCache, *, strict: bool = False, threads: int = _THREADS
) -> Embedding:
    """Features of all contents: computed where the cache does not know them yet.

    What cannot be read is reported in ``bad``; with ``strict`` the first of them is an error.
    """
    started = time.perf_counter()
    keys = np.full(len(contents), NO_KEY, dtype=KEY)
    bad: list[Bad] = []
    n_new = 0
    with silent_decoders(), _saving(cache, encoder) as writer:
        for piece in _pieces(contents, encoder, cache, threads):
            keys[piece.rows.start : piece.rows.stop] = piece.keys
            bad += piece.bad
            if strict:
                _stop_at(bad)
            n_new += len(piece.prepared)
            writer.put(piece)
    bad += writer.bad
    if strict:
        _stop_at(bad)
    refused = np.array([one.row for one in bad], dtype=np.intp)
    good = np.ones(len(contents), dtype=bool)
    good[refused] = False
    rows = np.flatnonzero(good)
    places = cache.find(keys[rows])
    assert (places >= 0).all()
    bad.sort(key=lambda one: one.row)
    return Embedding(keys, rows, places, cache, bad, n_new - len(writer.bad), time.perf_counter() - started)


def _stop_at(bad: list[Bad]) -> None:
    if bad:
        first = min(bad, key=lambda one: one.row)
        raise InvalidData(f"{first.reason} (and --strict stops at the first)")


def _pieces(contents: Contents, encoder: Encoder, cache: FeatureCache, threads: int) -> Iterator[_Piece]:
    """All rows in order, a batch at a time; the next few are being read while one is encoded."""
    n_rows, step, shortest = len(contents), encoder.batch, encoder.shortest()

    def load(rows: range) -> _Piece:
        read: list[Any] = [None] * len(rows)
        keys = np.full(len(rows), NO_KEY, dtype=KEY)
        bad: list[Bad] = []
        for place, row in enumerate(rows):
            try:
                read[place] = contents.read(row)
                keys[place] = contents.key(read[place])
            except InvalidData as error:
                bad.append(Bad(row, str(error)))
        unknown = np.flatnonzero((cache.find(keys) < 0) & (keys != NO_KEY))
        places, prepared = [], []
        for place in unknown.tolist():
            try:
                prepared.append(encoder.prepare(contents.open(read[place], rows[place], shortest)))
                places.append(place)
            except InvalidData as error:
                bad.append(Bad(rows[place], str(error)))
        return _Piece(rows, keys, places, prepared, bad)

    parts = [range(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]
    waiting: deque[Future[_Piece]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="eigenclean-read") as pool:
        try:
            # One more than there are threads, so that none of them waits for the encoder to be done.
            ahead = iter(parts)
            for part in ahead:
                waiting.append(pool.submit(load, part))
                if len(waiting) > threads:
                    break
            unit = f"{contents.kind}s"
            for _ in track(parts, f"embedding {unit}", sizes=[len(part) for part in parts], unit=unit):
                piece = waiting.popleft().result()
                for part in ahead:
                    waiting.append(pool.submit(load, part))
                    break
                yield piece
        finally:
            for one in waiting:
                one.cancel()


class _Writer:
    """Collects what is prepared into full batches, encodes them and hands them to the cache."""

    def __init__(self, cache: FeatureCache, encoder: Encoder) -> None:
        self._cache, self._encoder = cache, encoder
        self._keys = np.empty(0, dtype=KEY)
        self._rows = np.empty(0, dtype=np.intp)
        self._prepared: list[Any] = []
        self._saved = time.monotonic()
        self.bad: list[Bad] = []

    def put(self, piece: _Piece) -> None:
        if not piece.prepared:
            return
        self._keys = np.concatenate([self._keys, piece.keys[piece.places]])
        self._rows = np.concatenate([self._rows, np.array(piece.places) + piece.rows.start])
        self._prepared += piece.prepared
        while len(self._prepared) >= self._encoder.batch:
            self.encode()

    def encode(self) -> None:
        """The next batch, which may be smaller."""
        some = slice(self._encoder.batch)
        keys, rows, prepared = self._keys[some], self._rows[some], self._prepared[some]
        if not prepared:
            return
        rest = slice(self._encoder.batch, None)
        self._keys, self._rows, self._prepared = self._keys[rest], self._rows[rest], self._prepared[rest]
        features = self._encoder.encode(prepared)
        finite = np.isfinite(features).all(axis=1)
        for row in rows[~finite].tolist():
            self.bad.append(
                Bad(row, f"row {row}: the encoder {self._encoder.name} gave numbers that are not finite")
            )
        if finite.any():
            self._cache.add(keys[finite], features[finite])
        if time.monotonic() - self._saved > _SAVE_SECONDS:
            self._cache.flush()
            self._saved = time.monotonic()


@contextmanager
def _saving(cache: FeatureCache, encoder: Encoder) -> Iterator[_Writer]:
    """A writer whose work is on the disk at the end, also when the block was interrupted."""
    writer = _Writer(cache, encoder)
    try:
        yield writer
        writer.encode()
    finally:
        cache.flush()
        cache.refresh()
