"""A source of images or texts together with their features."""

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array, Ints, row_chunks
from eigenclean.deprecation import RenamedAttribute, renamed_arguments
from eigenclean.errors import InvalidData
from eigenclean.features.cache import FeatureCache, cache_folder
from eigenclean.features.choose import bundled_encoder, make_encoder
from eigenclean.features.contents import contents_of
from eigenclean.features.embedding import Skipped, embed_contents
from eigenclean.features.encoders.base import Encoder
from eigenclean.sources import Source
from eigenclean.sources.images.lazy import LazyImages

MAX_LISTED = 1000  # skipped contents that a summary lists
_PREVIEW_SIDE = 384  # pixels of the shorter side of an image in the report


class EmbeddedSource(Source):
    """The rows of a raw source that have features; ids are those of the raw source.

    Args:
        raw: where the rows come from.
        rows: which of them have features, ascending.
        features: their features: an array, or an object that returns one for a slice.
        facts: about the encoder, for the summary of a run.
        skipped: the other rows, and why they are left out.
        keys: cache keys of the contents, one for each row of ``raw``, when they are known.
    """

    def __init__(
        self,
        raw: Source,
        rows: Ints,
        features: Any,
        *,
        facts: Mapping[str, Any],
        skipped: Sequence[Skipped] = (),
        keys: Array | None = None,
    ) -> None:
        self.raw, self.rows, self.skipped = raw, rows, skipped
        self.name = raw.name
        self.labels = raw.labels[rows]
        self.ids = raw.ids[rows]
        self.skipped_links = raw.skipped_links
        self.groups = None if raw.groups is None else raw.groups[rows]
        self.annotations = None if raw.annotations is None else raw.annotations.take(rows)
        if raw.texts is not None:
            whole = len(rows) == len(raw)
            self.texts = raw.texts if whole else [raw.texts[row] for row in rows.tolist()]
        if raw.images is not None:
            self.images = _select_images(raw.images, rows)
        self._features, self._facts, self._keys = features, dict(facts), keys
        self._loaded: Array | None = None

    bad = RenamedAttribute("skipped")

    def features(self) -> Array:
        """The features of all rows, as an array in memory."""
        if self._loaded is None:
            self._loaded = np.asarray(self._features[: len(self)])
        return self._loaded

    @property
    def in_memory(self) -> bool:
        """False as long as the features are only in the cache on the disk."""
        return self._loaded is not None or isinstance(self._features, np.ndarray)

    def data_hash(self) -> str:
        """The hash of the raw source: it does not depend on the encoder."""
        if self._keys is not None and isinstance(self.raw.images, LazyImages):
            self.raw.images.keys = self._keys  # the images are not read a second time
        return self.raw.data_hash()

    def facts(self) -> dict[str, Any]:
        """The embedding's entry in the summary of a run: the encoder, how long it took, what is left out."""
        skipped = [
            {"row": content.row, "id": self.raw.ids[content.row].item(), "reason": content.reason}
            for content in self.skipped[:MAX_LISTED]
        ]
        return {**self._facts, "n_embedded": len(self), "n_skipped": len(self.skipped), "skipped": skipped}

    def _blocks(self, rows: int) -> Iterator[Array]:
        for chunk in row_chunks(len(self), 1, rows):
            yield self._features[chunk]


class PreviewImages(LazyImages):
    """A selection of images for display: decoded one at a time, each in its own proportions."""

    def __init__(self, images: LazyImages, rows: Ints) -> None:
        super().__init__(grey=images.grey, by="images")
        self._images, self._rows = images, rows

    def __len__(self) -> int:
        return len(self._rows)

    def read(self, row: int) -> bytes:
        """The image as it is stored."""
        return self._images.read(int(self._rows[row]))

    def title(self, row: int) -> str:
        """Its name among all images."""
        return self._images.title(int(self._rows[row]))

    def __getitem__(self, row: Any) -> Any:
        """One image."""
        return self.preview(int(row), min_side=_PREVIEW_SIDE)


def _select_images(images: Array | LazyImages, rows: Ints) -> Array | LazyImages:
    if isinstance(images, LazyImages):
        return PreviewImages(images, rows)
    return images if len(rows) == len(images) else images[rows]


class _CachedFeatures:
    """Rows of a cache, read on access."""

    def __init__(self, cache: FeatureCache, cache_rows: Ints) -> None:
        self._cache, self._cache_rows = cache, cache_rows

    def __getitem__(self, rows: slice) -> Array:
        return self._cache.take(self._cache_rows[rows])


class _BesideColumns:
    """Features of texts and those of the other columns of a table, side by side.

    The columns have about unit variance each; so that neither side drowns the other, the texts' rows are given the
    length that a row of the columns has on average.
    """

    def __init__(self, texts: _CachedFeatures, columns: Array) -> None:
        self._texts, self._columns = texts, columns

    def __getitem__(self, rows: slice) -> Array:
        texts = np.asarray(self._texts[rows], dtype=np.float64)
        lengths = np.linalg.norm(texts, axis=1, keepdims=True)
        texts *= np.sqrt(self._columns.shape[1]) / np.where(lengths > 0, lengths, 1)
        return np.concatenate([texts, self._columns[rows]], axis=1)


@renamed_arguments(keep="use_cache")
def embed_source(
    source: Source,
    encoder: Encoder,
    *,
    cache: str | Path | None = None,
    use_cache: bool = True,
    strict: bool = False,
) -> EmbeddedSource:
    """The source with features: those in the cache, and the others computed.

    Args:
        source: a source of images or texts.
        encoder: computes the features.
        cache: folder of features that were computed before; by default EIGENCLEAN_CACHE or the user's cache folder.
        use_cache: look features up in the cache, and store new ones there.
        strict: the first content that cannot be read is an error; otherwise it is left out and reported.
    """
    contents = contents_of(source, encoder.kind)
    folder = cache_folder(cache) if use_cache else Path(tempfile.mkdtemp(prefix="eigenclean-"))
    feature_cache = FeatureCache(folder, encoder.key(), {"name": encoder.name, **encoder.about()})
    if not use_cache:
        weakref.finalize(feature_cache, shutil.rmtree, folder, ignore_errors=True)
    embedding = embed_contents(contents, encoder, feature_cache, strict=strict)
    if len(embedding.rows) == 0:
        raise InvalidData(
            f"{source.name}: none of its {len(source)} {encoder.kind}s can be read; the first: "
            f"{embedding.skipped[0].reason}"
        )
    facts = {
        "encoder": encoder.name,
        "kind": encoder.kind,
        "preprocessing": encoder.about(),
        "n_computed": embedding.n_computed,
        "seconds": embedding.seconds,
    }
    features: Any = _CachedFeatures(feature_cache, embedding.cache_rows)
    if source.embeds_texts:
        features = _BesideColumns(features, source.features()[embedding.rows])
    return EmbeddedSource(
        source,
        embedding.rows,
        features,
        facts=facts,
        skipped=embedding.skipped,
        keys=embedding.keys,
    )


def recompute_features(
    source: Source,
    record: Mapping[str, Any],
    *,
    encoder: str | None = None,
    cache: str | Path | None = None,
    by: str = "the run",
) -> EmbeddedSource:
    """Embed the source as in an earlier run.

    Args:
        source: the data of the run.
        record: the entry ``embedding`` of its summary. It may be somebody else's: it can choose a bundled encoder,
            and no folder to write to.
        encoder: the user's own choice, which may be any encoder; None for that of the record.
        cache: folder of features that were computed before; None for the default.
        by: what to call the run in messages.
    """
    options = record.get("options", record.get("again"))  # its name before version 0.3
    if not isinstance(options, Mapping):
        options = {}
    if encoder is None:
        recorded = options.get("encoder")
        if not isinstance(recorded, str):
            raise InvalidData(f"{source.name} was embedded by {record.get('encoder')}, which cannot be done again")
        encoder = bundled_encoder(recorded, by=by)
    half = options.get("half") is True
    return embed_source(source, make_encoder(encoder, half=half), cache=cache)
