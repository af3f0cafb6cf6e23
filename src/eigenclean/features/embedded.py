"""A source of images or texts together with their features."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, row_chunks
from eigenclean.errors import InvalidData
from eigenclean.features.base import Encoder
from eigenclean.features.cache import FeatureCache, cache_folder
from eigenclean.features.contents import contents_of
from eigenclean.features.embedding import Embedding, embed_contents
from eigenclean.sources import Source
from eigenclean.sources.lazy_images import LazyImages

MOST_NAMED = 1000  # bad contents that a summary names
_SHOWN = 384  # pixels of the shorter side of an image for showing


class EmbeddedSource(Source):
    """The rows of a raw source that could be embedded, with features; ids are those of the raw source.

    Attributes:
        raw: where the rows come from.
        embedding: what came of embedding them.
        encoder: what the features are of.
    """

    def __init__(self, raw: Source, embedding: Embedding, encoder: Encoder) -> None:
        rows = embedding.rows
        self.raw, self.embedding, self.encoder = raw, embedding, encoder
        self.name = raw.name
        self.labels = raw.labels[rows]
        self.ids = raw.ids[rows]
        if raw.texts is not None:
            self.texts = [raw.texts[row] for row in rows.tolist()]
        if raw.images is not None:
            self.images = Shown(raw.images, rows)  # type: ignore[assignment]

    def features(self) -> Array:
        """All features, in memory."""
        return self.embedding.cache.take(self.embedding.places)

    def data_hash(self) -> str:
        """That of the raw source: it does not depend on the encoder."""
        if isinstance(self.raw.images, LazyImages):
            self.raw.images.keys = self.embedding.keys  # so that nothing is read twice
        return self.raw.data_hash()

    def facts(self) -> dict[str, Any]:
        """What to say about the embedding in a summary."""
        done = self.embedding
        return {
            "encoder": self.encoder.name,
            "kind": self.encoder.kind,
            **self.encoder.about(),
            "n_embedded": len(done.rows),
            "n_computed": done.n_new,
            "n_known": len(done.rows) - done.n_new,
            "seconds": done.seconds,
            "n_skipped": len(done.bad),
            "skipped": [
                {"row": bad.row, "id": self.raw.ids[bad.row].item(), "reason": bad.reason}
                for bad in done.bad[:MOST_NAMED]
            ],
        }

    def _blocks(self, rows: int) -> Iterator[Array]:
        for part in row_chunks(len(self), 1, rows):
            yield self.embedding.cache.take(self.embedding.places[part])


class Shown(Sequence[Array]):
    """Some images of a source, one at a time and each in its own size: for showing."""

    def __init__(self, images: Any, rows: Array) -> None:
        self._images, self._rows = images, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, row: Any) -> Any:
        """One image."""
        place = int(self._rows[row])
        if isinstance(self._images, LazyImages):
            return self._images.look(place, shortest=_SHOWN)
        return np.asarray(self._images[place])


def embed_source(
    source: Source,
    encoder: Encoder,
    *,
    cache: str | Path | None = None,
    keep: bool = True,
    strict: bool = False,
) -> EmbeddedSource:
    """The source with features: those in the cache, and the others computed.

    Args:
        source: has images or texts.
        encoder: what to compute features with.
        cache: folder of features that were computed before; by default EIGENCLEAN_CACHE or the user's cache folder.
        keep: without it, nothing is looked up or kept.
        strict: the first content that cannot be read is an error; otherwise it is left out and reported.
    """
    contents = contents_of(source, encoder.kind)
    if keep:
        known = FeatureCache(cache_folder(cache), encoder.key(), {"name": encoder.name, **encoder.about()})
        return _checked(EmbeddedSource(source, embed_contents(contents, encoder, known, strict=strict), encoder))
    folder = tempfile.TemporaryDirectory(prefix="eigenclean-", ignore_cleanup_errors=True)
    fresh = FeatureCache(folder.name, encoder.key(), {"name": encoder.name})
    made = EmbeddedSource(source, embed_contents(contents, encoder, fresh, strict=strict), encoder)
    made._folder = folder  # type: ignore[attr-defined]  # it goes when the source goes
    return _checked(made)


def _checked(made: EmbeddedSource) -> EmbeddedSource:
    if len(made) == 0:
        first = made.embedding.bad[0].reason
        kind = made.encoder.kind
        raise InvalidData(f"{made.name}: none of its {len(made.raw)} {kind}s can be read; the first: {first}")
    return made
