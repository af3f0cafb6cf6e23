"""Arrays that are in memory, or mapped into it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints, check_ids, check_labels, check_table
from eigenclean.errors import InvalidData
from eigenclean.sources.arrays.mapped import MapReader, is_whole_map, read_blocks
from eigenclean.sources.base import Reader, Source
from eigenclean.sources.images.lazy import LazyImages


class MemorySource(Source):
    """Features, labels and what goes with them as arrays; nothing is copied.

    >>> import numpy as np
    >>> source = MemorySource("mine", np.eye(3), labels=np.array(["a", "b", "a"]))
    >>> source
    MemorySource mine: 3 rows
    >>> [len(batch) for batch in source.batches(rows=2)]
    [2, 1]
    """

    def __init__(
        self,
        name: str,
        features: Array,
        labels: Array,
        *,
        ids: Array | None = None,
        images: Array | LazyImages | None = None,
        texts: Array | None = None,
    ) -> None:
        check_table(features, by=name)
        n_rows = len(features)
        self.name = name
        self.labels = check_labels(labels, by=name, n_rows=n_rows)
        refuse_empty(n_rows, by=name)
        self.ids = check_ids(ids, n_rows, by=name)
        self.images = None if images is None else check_images(images, n_rows, by=name)
        self.texts = None if texts is None else check_texts(texts, n_rows, by=name)
        self._features = features

    def features(self) -> Array:
        """The features as they were given."""
        return self._features

    def kind(self) -> tuple[int, np.dtype[Any]]:
        """Columns and type of the array."""
        return int(self._features.shape[1]), self._features.dtype

    def take(self, rows: Ints) -> Array:
        """These rows of the array."""
        return np.asarray(self._features[rows])

    def reader(self) -> Reader:
        """A reader of the file, if the array is memory-mapped."""
        if is_whole_map(self._features):
            return MapReader(self._features, name=self.name)
        return super().reader()

    def _blocks(self, rows: int) -> Iterator[Array]:
        if is_whole_map(self._features):
            return read_blocks(self._features, rows, name=self.name)
        return super()._blocks(rows)


def refuse_empty(n_rows: int, *, by: str) -> None:
    """Raise `InvalidData` when there are no rows."""
    if n_rows == 0:
        raise InvalidData(f"{by} has no rows; give at least two classes with a few samples each")


def check_images(images: Array | LazyImages, n_rows: int, *, by: str) -> Array | LazyImages:
    """The images when there is one of uint8 for each row; `InvalidData` otherwise. Files are not decoded here."""
    if images.ndim not in (3, 4) or len(images) != n_rows or images.dtype != "uint8":
        raise InvalidData(
            f"{by}: images must be one height x width (x channels) array of uint8 for each of the {n_rows} rows, "
            f"got shape {images.shape} and type {images.dtype}"
        )
    return images


def check_texts(texts: Array, n_rows: int, *, by: str) -> list[str]:
    """The texts when there is one for each row; `InvalidData` otherwise."""
    if texts.ndim != 1 or len(texts) != n_rows:
        raise InvalidData(f"{by}: texts must be one for each of the {n_rows} rows, got shape {texts.shape}")
    try:
        return [str(text) for text in texts.tolist()]
    except ValueError:  # a number beyond the last code point, in a damaged file
        raise InvalidData(f"{by}: texts must be Unicode text; write the file again") from None
