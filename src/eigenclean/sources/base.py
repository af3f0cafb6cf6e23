"""The interface of sources: labels and ids in memory, features as a whole or in blocks."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from eigenclean.arrays import Array, Ints, check_labels, row_chunks
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Annotations, Evidence
from eigenclean.sources.images.lazy import LazyImages

if TYPE_CHECKING:
    from eigenclean.sources.tabular.table import Table
    from eigenclean.tables import TableEncoding


class Reader(ABC):
    """Random access to the features of a source; picklable, so that it can be sent to a Dask worker."""

    @abstractmethod
    def read(self, start: int, stop: int) -> Array:
        """The features of rows ``start`` to ``stop``."""

    def where(self, row: int) -> str:
        """The location of a row for error messages."""
        return f"row {row}"


class ArrayReader(Reader):
    """Rows of an array in memory."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def read(self, start: int, stop: int) -> Array:
        """The features of rows ``start`` to ``stop``: a slice."""
        return self._array[start:stop]


class Source(ABC):
    """Rows with labels and features, opened but not necessarily read.

    Attributes:
        name: what to call it in messages and reports, as the user gave it.
        labels: the given labels, one per row, checked.
        ids: unique ids, one per row; by default 0, 1, 2, …
        images: n x H x W or n x H x W x C array of uint8, or files that act like one; None if there are none.
        texts: one text per row to display, or None.
        table: the table that it was read from; None for other formats.
        label_column: name of the label column of that table; None when the labels are not in it.
        found_label: nobody named that column, and it is the only one that can hold labels.
        files: the files that the rows are read from; empty for what is in memory.
        skipped_links: names of links that lead out of the folder of the data and were left out.
        splits: names of the splits that the data set has, for ``open_source(..., split=...)``; often none.
        encoding: how the columns of a table of several kinds became features; None for other sources.
        embeds_texts: the texts are to be embedded, and their features belong beside those of the columns.
        has_features: whether there are features to read.
        annotations: labels by several annotators, of which ``labels`` are the majority's; None for others.
        groups: which rows belong together, a number for each; None if that is not known.
        n_unlabelled: rows that no annotator has labelled, which are left out.
    """

    name: str
    labels: Array
    ids: Array
    images: Array | LazyImages | None = None
    texts: Sequence[str] | None = None
    table: "Table | None" = None
    label_column: str | None = None
    found_label: bool = False
    files: Sequence[Path] = ()
    skipped_links: Sequence[str] = ()
    splits: Sequence[str] = ()
    encoding: "TableEncoding | None" = None
    embeds_texts: bool = False
    has_features: bool = True
    annotations: Annotations | None = None
    groups: Array | None = None
    n_unlabelled: int = 0

    @abstractmethod
    def features(self) -> Array:
        """All features, n x d; memory-mapped where the format allows."""

    @property
    def in_memory(self) -> bool:
        """Whether reading the features takes no additional memory."""
        return not self.files

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name}: {len(self)} rows"

    def evidence(self) -> Evidence:
        """Everything a detector may see."""
        return Evidence(
            ids=self.ids,
            labels=self.labels,
            features=self.features(),
            annotations=self.annotations,
            groups=self.groups,
        )

    def batches(self, rows: int = 65_536) -> Iterator[Evidence]:
        """The same in order, ``rows`` rows at a time (the last batch may be smaller), whatever the format."""
        if rows < 1:
            raise InvalidOption(f"{self.name}: a batch must have at least 1 row, got {rows}")
        start = 0
        for block in self._blocks(rows):
            chunk = slice(start, start + len(block))
            yield Evidence(ids=self.ids[chunk], labels=self.labels[chunk], features=block)
            start = chunk.stop

    def blocks(self, rows: int) -> Iterator[Array]:
        """The features alone, ``rows`` rows at a time, read anew: never more than a block or two in memory."""
        return self._blocks(rows)

    def kind(self) -> tuple[int, np.dtype[Any]]:
        """Columns and type of the features, without reading them all."""
        first = next(iter(self._blocks(1)))
        return int(first.shape[1]), first.dtype

    def take(self, rows: Ints) -> Array:
        """The features of these rows, in the order of ``rows``."""
        order = np.argsort(rows, kind="stable")
        sorted_rows, start, selected = rows[order], 0, []
        for block in self._blocks(65_536):
            first, last = np.searchsorted(sorted_rows, (start, start + len(block)))
            selected.append(block[sorted_rows[first:last] - start])
            start += len(block)
        features = np.concatenate(selected)
        return np.asarray(features[np.argsort(order, kind="stable")])

    def reader(self) -> Reader:
        """A reader of any rows for other processes; it holds the whole array where there is no file to read."""
        return ArrayReader(self.features())

    def where(self, row: int) -> str:
        """The location of a row for error messages."""
        return f"row {row}"

    def data_hash(self) -> str:
        """A fingerprint of labels and features (not of ids or file format): equal data, equal hash."""
        return fingerprint(self.labels, self._blocks(65_536))

    def relabelled(self, labels: Array) -> Self:
        """The same rows with other labels, as many."""
        other = copy(self)
        other.labels = check_labels(labels, by=self.name, n_rows=len(self))
        return other

    def _blocks(self, rows: int) -> Iterator[Array]:
        """The features in order, ``rows`` rows at a time."""
        features = self.features()
        for chunk in row_chunks(len(self), 1, rows):
            yield features[chunk]


def fingerprint(labels: Array, content: Iterable[Array] | str) -> str:
    """A hash of labels and rows; the rows come in blocks of any size, or as a hash of their own."""
    hasher = Fingerprint(labels)
    if isinstance(content, str):
        return hasher.value(content.encode())
    for block in content:
        hasher.add(block)
    return hasher.value()


class Fingerprint:
    """Computes `fingerprint` block by block, for passes that read the data for another purpose."""

    def __init__(self, labels: Array) -> None:
        self._labels, self._rows = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)
        self._has_header = False
        _feed_labels(self._labels, labels)

    def add(self, block: Array) -> None:
        """Add the next rows."""
        little = block.dtype.newbyteorder("<")
        if not self._has_header:
            self._rows.update(f"{little.str}{block.shape[1:]}".encode())
            self._has_header = True
        self._rows.update(_bytes(block, little))

    def value(self, more: bytes = b"") -> str:
        """The hash of all that was added."""
        self._rows.update(more)
        return hashlib.blake2b(self._labels.digest() + self._rows.digest(), digest_size=16).hexdigest()


def _bytes(values: Array, dtype: np.dtype[Any]) -> memoryview:
    return np.ascontiguousarray(values, dtype=dtype).reshape(-1).view(np.uint8).data


def _feed_labels(digest: "hashlib.blake2b", labels: Array) -> None:
    if labels.dtype.kind in "iub":  # their width depends on the file format, so all are hashed as 64 bits
        digest.update(b"integers")
        digest.update(_bytes(labels, np.dtype("<i8")))
        return
    digest.update(b"strings")
    for chunk in row_chunks(len(labels), 1, 65_536):
        texts = labels[chunk].tolist()
        encoded = [text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass") for text in texts]
        digest.update(b"".join(text + b"\x00" for text in encoded))
