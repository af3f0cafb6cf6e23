"""What every source can do: say its labels and ids, hand out its features, whole or in batches."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from eigenclean.arrays import Array, row_chunks
from eigenclean.evidence import Evidence


class Source(ABC):
    """Rows with labels and features, opened but not necessarily read.

    Attributes:
        name: what to call it in messages and reports, as the user gave it.
        labels: the given labels, one per row, checked.
        ids: unique ids, one per row; 0, 1, 2, … unless the data have their own.
        images: n x H x W or n x H x W x C array of uint8 for showing, or None.
        texts: one text per row for showing, or None.
    """

    name: str
    labels: Array
    ids: Array
    images: Array | None = None
    texts: Sequence[str] | None = None

    @abstractmethod
    def features(self) -> Array:
        """All features, n x d; memory-mapped where the format allows."""

    def __len__(self) -> int:
        return len(self.labels)

    def evidence(self) -> Evidence:
        """Everything a detector may see."""
        return Evidence(ids=self.ids, labels=self.labels, features=self.features())

    def batches(self, rows: int = 65_536) -> Iterator[Evidence]:
        """The same, at most ``rows`` rows at a time, in order."""
        features = self.features()
        for part in row_chunks(len(self), 1, rows):
            yield Evidence(ids=self.ids[part], labels=self.labels[part], features=features[part])

    def data_hash(self) -> str:
        """A fingerprint of labels and features (not of ids or file format): equal data, equal hash."""
        digest = hashlib.blake2b(digest_size=16)
        for batch in self.batches():
            for values in (np.asarray(batch.labels), np.asarray(batch.features)):
                digest.update(f"{values.dtype.str}{values.shape[1:]}".encode())
                digest.update(
                    np.ascontiguousarray(values).data.cast("B") if values.dtype.kind != "U" else _utf8(values)
                )
        return digest.hexdigest()


def _utf8(texts: Array) -> bytes:
    return "\x00".join(texts.tolist()).encode()
