"""From images and texts to features. A new encoder is one file and one line in `ENCODERS`."""

from eigenclean.features.again import embedded_again
from eigenclean.features.base import Encoder
from eigenclean.features.choose import best_encoder, make_encoder
from eigenclean.features.embedded import EmbeddedSource, embed_source
from eigenclean.features.table import ENCODERS

__all__ = [
    "ENCODERS",
    "EmbeddedSource",
    "Encoder",
    "best_encoder",
    "embed_source",
    "embedded_again",
    "make_encoder",
]
