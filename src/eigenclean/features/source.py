"""A source of images or texts together with their features."""

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints, row_chunks
from eigenclean.errors import InvalidData
from eigenclean.features.cache import FeatureCache, cache_folder
from eigenclean.features.contents import contents_of
from eigenclean.features.embedding import Bad, embed_contents
from eigenclean.features.encoders.base import Encoder
from eigenclean.sources import Source
from eigenclean.sources.images.lazy import LazyImages

MOST_NAMED = 1000  # bad contents that a summary names
_SHOWN = 384  # pixels of the shorter side of an image for showing


class EmbeddedSource(Source):
    """The rows of a raw source that have features; ids are those of the raw source.

    Args:
        raw: where the rows come from.
        rows: which of them have features, ascending.
        features: theirs: an array, or something that gives one for a slice.
        facts: what to say about it in a summary.
        bad: the other rows, and why they are left out.
        keys: keys of the contents, one for each row of ``raw``, when they are known.
    """

    def __init__(
        self,
        raw: Source,
        rows: Ints,
        features: Any,
        *,
        facts: Mapping[str, Any],
        bad: Sequence[Bad] = (),
        keys: Array | None = None,
    ) -> None:
        self.raw, self.rows, self.bad = raw, rows, bad
        self.name = raw.name
        self.labels = raw.labels[rows]
        self.ids = raw.ids[rows]
        if raw.texts is not None:
            whole = len(rows) == len(raw)
            self.texts = raw.texts if whole else [raw.texts[row] for row in rows.tolist()]
        if raw.images is not None:
            self.images = _shown(raw.images, rows)
        self._features, self._facts, self._keys = features, dict(facts), keys
        self._held: Array | None = None

    def features(self) -> Array:
        """All features, in memory."""
        if self._held is None:
            self._held = np.asarray(self._features[: len(self)])
        return self._held

    @property
    def in_memory(self) -> bool:
        """Features in the cache are on the disk."""
        return self._held is not None or isinstance(self._features, np.ndarray)

    def data_hash(self) -> str:
        """That of the raw source: it does not depend on the encoder."""
        if self._keys is not None and isinstance(self.raw.images, LazyImages):
            self.raw.images.keys = self._keys  # so that nothing is read twice
        return self.raw.data_hash()

    def facts(self) -> dict[str, Any]:
        """What to say about the embedding in a summary: the encoder, how long it took, what is left out."""
        skipped = [
            {"row": bad.row, "id": self.raw.ids[bad.row].item(), "reason": bad.reason}
            for bad in self.bad[:MOST_NAMED]
        ]
        return {**self._facts, "n_embedded": len(self), "n_skipped": len(self.bad), "skipped": skipped}

    def _blocks(self, rows: int) -> Iterator[Array]:
        for part in row_chunks(len(self), 1, rows):
            yield self._features[part]


class Shown(LazyImages):
    """Some of other images, one at a time and each in its own size: for showing."""

    def __init__(self, images: LazyImages, rows: Ints) -> None:
        super().__init__(grey=images.grey, by="images")
        self._images, self._rows = images, rows

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, row: int) -> bytes:
        """The image as it is stored."""
        return self._images.read(int(self._rows[row]))

    def title(self, row: int) -> str:
        """What the others call it."""
        return self._images.title(int(self._rows[row]))

    def __getitem__(self, row: Any) -> Any:
        """One image."""
        return self.look(int(row), shortest=_SHOWN)


def _shown(images: Array | LazyImages, rows: Ints) -> Array | LazyImages:
    if isinstance(images, LazyImages):
        return Shown(images, rows)
    return images if len(rows) == len(images) else images[rows]


class _Cached:
    """Rows of a cache, read when they are wanted."""

    def __init__(self, cache: FeatureCache, places: Ints) -> None:
        self._cache, self._places = cache, places

    def __getitem__(self, part: slice) -> Array:
        return self._cache.take(self._places[part])


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
    folder = cache_folder(cache) if keep else Path(tempfile.mkdtemp(prefix="eigenclean-"))
    known = FeatureCache(folder, encoder.key(), {"name": encoder.name, **encoder.about()})
    if not keep:
        weakref.finalize(known, shutil.rmtree, folder, ignore_errors=True)
    done = embed_contents(contents, encoder, known, strict=strict)
    if len(done.rows) == 0:
        raise InvalidData(
            f"{source.name}: none of its {len(source)} {encoder.kind}s can be read; the first: {done.bad[0].reason}"
        )
    facts = {
        "encoder": encoder.name,
        "kind": encoder.kind,
        "preprocessing": encoder.about(),
        "n_computed": done.n_new,
        "seconds": done.seconds,
    }
    stored = _Cached(known, done.places)
    return EmbeddedSource(source, done.rows, stored, facts=facts, bad=done.bad, keys=done.keys)
