"""Labelled images without features: something to train on, or to embed."""

from collections.abc import Iterator, Sequence

from eigenclean.arrays import Array, check_ids, check_labels, row_chunks
from eigenclean.errors import InvalidOption
from eigenclean.names import check_name
from eigenclean.sources.arrays.memory import check_images, check_texts, refuse_empty
from eigenclean.sources.base import fingerprint
from eigenclean.sources.images.lazy import LazyImages
from eigenclean.sources.raw import RawSource


class ImageSource(RawSource):
    """Images and their labels; asking for features raises an error that says how to compute them.

    Args:
        name: what to call it.
        images: an array of uint8, n x H x W or n x H x W x C, or files that are decoded on access.
        labels: one per image.
        ids: unique; 0, 1, 2, … by default.
        texts: one per image, to display.
        splits: names of the splits that the data set has, if any.

    >>> import numpy as np
    >>> ImageSource("mine", np.zeros((2, 8, 8), dtype=np.uint8), np.array(["cat", "dog"]))
    ImageSource mine: 2 rows
    """

    holds = "images"
    images: Array | LazyImages

    def __init__(
        self,
        name: str,
        images: Array | LazyImages,
        labels: Array,
        *,
        ids: Array | None = None,
        texts: Array | None = None,
        splits: Sequence[str] = (),
    ) -> None:
        n_rows = len(images)
        refuse_empty(n_rows, by=name)
        self.name = name
        self.images = check_images(images, n_rows, by=name)
        self.labels = check_labels(labels, by=name, n_rows=n_rows)
        self.ids = check_ids(ids, n_rows, by=name)
        self.texts = None if texts is None else check_texts(texts, n_rows, by=name)
        self.splits = tuple(splits)

    def data_hash(self) -> str:
        """A fingerprint of labels and images."""
        if isinstance(self.images, LazyImages):
            return fingerprint(self.labels, self.images.fingerprint())
        return fingerprint(self.labels, self._pixels(self.images))

    @staticmethod
    def _pixels(images: Array) -> Iterator[Array]:
        for chunk in row_chunks(len(images), images[0].nbytes):
            yield images[chunk]


def choose_split(split: str | None, available: Sequence[str], *, by: str) -> str:
    """The wanted split: by default "train", else the first that is available.

    >>> choose_split(None, ["test", "train"], by="mine"), choose_split("test", ["test", "train"], by="mine")
    ('train', 'test')
    >>> choose_split("test", [], by="mine")
    Traceback (most recent call last):
        ...
    eigenclean.errors.InvalidOption: mine is in one piece: leave out the split 'test'
    """
    if split is None:
        return "train" if "train" in available or not available else available[0]
    if not available:
        raise InvalidOption(f"{by} is in one piece: leave out the split {split!r}")
    check_name(split, available, by=by, what="split")
    return split
