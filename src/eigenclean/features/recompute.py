"""The features that a run was judged by, once more: they are in the cache, or are computed again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eigenclean.errors import InvalidData
from eigenclean.features.choose import make_encoder
from eigenclean.features.source import EmbeddedSource, embed_source
from eigenclean.sources import Source


def embedded_again(source: Source, record: Mapping[str, Any]) -> EmbeddedSource:
    """The source with features, embedded as ``record`` says, which is the ``embedding`` of a summary."""
    how = record.get("again")
    if not isinstance(how, Mapping) or not isinstance(how.get("encoder"), str):
        raise InvalidData(f"{source.name} was embedded by {record.get('encoder')}, which cannot be done again")
    folder = how.get("cache")
    encoder = make_encoder(how["encoder"], half=bool(how.get("half")))
    return embed_source(source, encoder, cache=None if folder is None else Path(str(folder)))
