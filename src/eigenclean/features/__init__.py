"""From images and texts to features. A new encoder is one file and one line in `ENCODERS`."""

from eigenclean.features.choose import best_encoder, make_encoder
from eigenclean.features.encoders.base import Encoder
from eigenclean.features.recompute import embedded_again
from eigenclean.features.registry import ENCODERS
from eigenclean.features.source import EmbeddedSource, embed_source

__all__ = [
    "ENCODERS",
    "EmbeddedSource",
    "Encoder",
    "best_encoder",
    "embed_source",
    "embedded_again",
    "make_encoder",
]
