"""What every source can do: say its labels and ids, hand out its features, whole or in batches."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from eigenclean.arrays import Array, check_labels, row_chunks
from eigenclean.errors import InvalidOption
from eigenclean.evidence import Evidence
from eigenclean.sources.lazy_images import LazyImages

if TYPE_CHECKING:
    from eigenclean.sources.tables import Rows


class Source(ABC):
    """Rows with labels and features, opened but not necessarily read.

    Attributes:
        name: what to call it in messages and reports, as the user gave it.
        labels: the given labels, one per row, checked.
        ids: unique ids, one per row; 0, 1, 2, … unless the data have their own.
        images: n x H x W or n x H x W x C array of uint8, or files that act like one; None if there are none.
        texts: one text per row for showing, or None.
        table: that it was read from; None for other formats.
        label_column: name of the column of the labels there; None when they came from elsewhere.
        splits: names of the parts that the data set comes in, for ``open_source(..., split=...)``; often none.
    """

    name: str
    labels: Array
    ids: Array
    images: Array | LazyImages | None = None
    texts: Sequence[str] | None = None
    table: "Rows | None" = None
    label_column: str | None = None
    splits: Sequence[str] = ()

    @abstractmethod
    def features(self) -> Array:
        """All features, n x d; memory-mapped where the format allows."""

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name}: {len(self)} rows"

    def evidence(self) -> Evidence:
        """Everything a detector may see."""
        return Evidence(ids=self.ids, labels=self.labels, features=self.features())

    def batches(self, rows: int = 65_536) -> Iterator[Evidence]:
        """The same in order, ``rows`` rows at a time (the last batch may be smaller), whatever the format."""
        if rows < 1:
            raise InvalidOption(f"{self.name}: a batch must have at least 1 row, got {rows}")
        start = 0
        for block in self._blocks(rows):
            part = slice(start, start + len(block))
            yield Evidence(ids=self.ids[part], labels=self.labels[part], features=block)
            start = part.stop

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
        for part in row_chunks(len(self), 1, rows):
            yield features[part]


def fingerprint(labels: Array, content: Iterable[Array] | str) -> str:
    """Of labels, and of rows (in blocks; how they are cut does not matter) or a fingerprint of them."""
    first, second = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)
    _feed_labels(first, labels)
    if isinstance(content, str):
        second.update(content.encode())
        content = ()
    for number, block in enumerate(content):
        little = block.dtype.newbyteorder("<")
        if number == 0:
            second.update(f"{little.str}{block.shape[1:]}".encode())
        second.update(_bytes(block, little))
    return hashlib.blake2b(first.digest() + second.digest(), digest_size=16).hexdigest()


def _bytes(values: Array, dtype: np.dtype[Any]) -> memoryview:
    return np.ascontiguousarray(values, dtype=dtype).reshape(-1).view(np.uint8).data


def _feed_labels(digest: "hashlib.blake2b", labels: Array) -> None:
    if labels.dtype.kind in "iub":  # the width of the integers is the format's affair
        digest.update(b"integers")
        digest.update(_bytes(labels, np.dtype("<i8")))
        return
    digest.update(b"strings")
    for part in row_chunks(len(labels), 1, 65_536):
        texts = labels[part].tolist()
        encoded = [text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass") for text in texts]
        digest.update(b"".join(text + b"\x00" for text in encoded))
