"""A folder of shards: files of one kind, whose rows follow each other in the order of their names."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints, check_ids, check_labels, not_finite
from eigenclean.errors import InvalidData
from eigenclean.paths import refuse_links_out
from eigenclean.sources.base import Reader, Source
from eigenclean.sources.tabular.column_arrays import regroup

_DIGITS = re.compile(r"(\d+)")


class ShardedSource(Source):
    """The rows of several sources, one after the other.

    Args:
        name: what to call it.
        shards: the sources, all with features of the same width and type.
        labels: one for each row of all shards; None takes those of the shards.

    Attributes:
        shards: the sources.
    """

    def __init__(self, name: str, shards: Sequence[Source], *, labels: Array | None = None) -> None:
        self.name, self.shards = name, shards
        self.files = [file for shard in shards for file in shard.files]
        sizes = [len(shard) for shard in shards]
        self._starts = np.concatenate(([0], np.cumsum(sizes)))
        self._kind = _same_kind(name, shards)
        n = int(self._starts[-1])
        self.labels = check_labels(_joined_labels(name, shards) if labels is None else labels, by=name, n_rows=n)
        self.ids = check_ids(_joined_ids(shards), n, by=name)
        if all(shard.texts is not None for shard in shards):
            self.texts = [*chain.from_iterable(shard.texts or () for shard in shards)]

    def features(self) -> Array:
        """All features in memory, with the shard named that has a NaN."""
        width, dtype = self._kind
        features = np.empty((len(self), width), dtype=dtype)
        start = 0
        for block in self._blocks(65_536):
            features[start : start + len(block)] = block
            wrong, first = not_finite(block)
            if wrong:
                raise InvalidData(
                    f"{self.name}: features must be finite, but {self.where(start + first)} has NaN or infinite "
                    "values; drop or fill such rows"
                )
            start += len(block)
        return features

    def kind(self) -> tuple[int, np.dtype[Any]]:
        """Columns and type of every shard."""
        return self._kind

    def take(self, rows: Ints) -> Array:
        """The features of these rows; only shards that have some of them are read."""
        width, dtype = self._kind
        features = np.empty((len(rows), width), dtype=dtype)
        shard = np.searchsorted(self._starts, rows, side="right") - 1
        for number in np.unique(shard).tolist():
            inside = shard == number
            features[inside] = self.shards[number].take(rows[inside] - self._starts[number])
        return features

    def where(self, row: int) -> str:
        """The shard, and the row in it."""
        return self.reader().where(row)

    def reader(self) -> Reader:
        """The readers of the shards as one."""
        readers, names = [shard.reader() for shard in self.shards], [shard.name for shard in self.shards]
        return ShardReader(readers, self._starts.tolist(), names)

    def _blocks(self, rows: int) -> Iterator[Array]:
        return regroup(chain.from_iterable(shard.blocks(rows) for shard in self.shards), rows)


class ShardReader(Reader):
    """Reads any rows of a folder of shards."""

    def __init__(self, readers: Sequence[Reader], starts: Sequence[int], names: Sequence[str]) -> None:
        self._readers, self._starts, self._names = readers, starts, names

    def where(self, row: int) -> str:
        """The shard, and the row in it."""
        number = bisect_right(self._starts, row) - 1
        return f"row {row - self._starts[number]} of {self._names[number]}"

    def read(self, start: int, stop: int) -> Array:
        """The features of rows ``start`` to ``stop``, which may lie in several shards."""
        chunks = []
        number = bisect_right(self._starts, start) - 1
        while start < stop:
            first, end = self._starts[number], min(stop, self._starts[number + 1])
            if start < end:
                chunks.append(self._readers[number].read(start - first, end - first))
                start = end
            number += 1
        return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)


def file_kind(path: Path) -> str:
    """The suffix of a file, with that of its content if it is compressed.

    >>> file_kind(Path("x.CSV.gz")), file_kind(Path("x.y.csv")), file_kind(Path("x.gz"))
    ('.csv.gz', '.csv', '.gz')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


def shard_files(folder: Path, suffixes: Sequence[str], *, follow_links: bool = True) -> list[Path]:
    """The files of the folder that may be shards, in the order of their names, 2 before 10; of one kind only.

    Without ``follow_links``, a link that leads out of the folder is an error: rows must not be missing silently.
    """
    files = [
        path
        for path in folder.iterdir()
        if file_kind(path) in suffixes and not path.name.startswith((".", "_")) and path.is_file()
    ]
    if not follow_links:
        for path in files:
            refuse_links_out(folder, path, by="shard")
    kinds = sorted({file_kind(path) for path in files})
    if len(kinds) > 1:
        raise InvalidData(f"{folder} has files of several kinds ({', '.join(kinds)}); keep the shards alone in it")
    return sorted(files, key=lambda path: [int(s) if s.isdigit() else s for s in _DIGITS.split(path.name)])


def _same_kind(name: str, shards: Sequence[Source]) -> tuple[int, np.dtype[Any]]:
    first, (width, dtype) = shards[0], shards[0].kind()
    for shard in shards[1:]:
        shard_width, shard_dtype = shard.kind()
        if shard_width != width:
            raise InvalidData(
                f"{name}: all shards must have as many features, but {shard.name} has {shard_width} where "
                f"{first.name} has {width}; write it again with the same encoder"
            )
        if shard_dtype != dtype:
            raise InvalidData(
                f"{name}: all shards must have features of one type, but {shard.name} has {shard_dtype} where "
                f"{first.name} has {dtype}; convert it"
            )
    return width, dtype


def _joined_labels(name: str, shards: Sequence[Source]) -> Array:
    texts = [shard.labels.dtype.kind == "U" for shard in shards]
    if any(texts) and not all(texts):
        odd = shards[texts.index(not texts[0])]
        raise InvalidData(
            f"{name}: labels must be all integers or all strings, but {odd.name} has labels of type "
            f"{odd.labels.dtype} where {shards[0].name} has {shards[0].labels.dtype}"
        )
    return np.concatenate([shard.labels for shard in shards])


def _joined_ids(shards: Sequence[Source]) -> Array | None:
    """Their ids, unless they are mere row numbers, which start anew in every shard."""
    numbered = all(
        shard.ids.dtype.kind in "iu" and np.array_equal(shard.ids, np.arange(len(shard))) for shard in shards
    )
    return None if numbered else np.concatenate([shard.ids for shard in shards])
