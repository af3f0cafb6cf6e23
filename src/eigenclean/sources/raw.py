"""Sources without features: of images, of texts, or of labels alone."""

from collections.abc import Iterator, Sequence

import numpy as np

from eigenclean.arrays import Array, check_ids, check_labels
from eigenclean.errors import InvalidData
from eigenclean.evidence import Evidence
from eigenclean.sources.arrays.memory import refuse_empty
from eigenclean.sources.base import Source, fingerprint


class RawSource(Source):
    """Labelled images or texts without features; asking for features raises an error that says how to compute them.

    Attributes:
        holds: what the contents are, "images" or "texts".
    """

    holds: str
    has_features = False

    def features(self) -> Array:
        """Raises `InvalidData`: the contents must be embedded first."""
        raise InvalidData(
            f"{self.name} holds {self.holds}, but no features: turn them into features with `eigenclean embed`"
            + (", or train on the images with `eigenclean train`" if self.holds == "images" else "")
        )

    def evidence(self) -> Evidence:
        """Ids, labels and annotations: all that is known before the contents are embedded."""
        return Evidence(ids=self.ids, labels=self.labels, annotations=self.annotations)


class TextSource(RawSource):
    """Texts and their labels.

    >>> TextSource("mine", ["where is my card?", "top up failed"], np.array(["card", "top-up"]))
    TextSource mine: 2 rows
    """

    holds = "texts"
    texts: Sequence[str]

    def __init__(self, name: str, texts: Sequence[str], labels: Array, *, ids: Array | None = None) -> None:
        n_rows = len(texts)
        refuse_empty(n_rows, by=name)
        self.name = name
        self.texts = texts
        self.labels = check_labels(labels, by=name, n_rows=n_rows)
        self.ids = check_ids(ids, n_rows, by=name)

    def data_hash(self) -> str:
        """A fingerprint of labels and texts."""
        return fingerprint(self.labels, self._encoded())

    def _encoded(self) -> Iterator[Array]:
        for text in self.texts:
            yield text_bytes(text)


def text_bytes(text: str) -> Array:
    """A text for hashing: its bytes and a mark of its end."""
    return np.frombuffer(text.encode("utf-8", "surrogatepass") + b"\0", dtype=np.uint8)


class LabelSource(Source):
    """Labels alone, for those who have predicted probabilities of the same rows.

    >>> LabelSource("mine", np.array(["card", "top-up"]))
    LabelSource mine: 2 rows
    """

    has_features = False

    def __init__(self, name: str, labels: Array, *, ids: Array | None = None) -> None:
        self.name = name
        self.labels = check_labels(labels, by=name)
        refuse_empty(len(self.labels), by=name)
        self.ids = check_ids(ids, len(self.labels), by=name)

    def features(self) -> Array:
        """Raises `InvalidData`: there are none."""
        raise InvalidData(f"{self.name} holds labels, but no features: give features, images or texts with them")

    def evidence(self) -> Evidence:
        """Ids, labels and annotations: all that is known before the contents are embedded."""
        return Evidence(ids=self.ids, labels=self.labels, annotations=self.annotations)

    def data_hash(self) -> str:
        """A fingerprint of the labels."""
        return fingerprint(self.labels, "labels")
