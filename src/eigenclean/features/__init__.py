"""From images and texts to features. A new encoder is one file and one line in `ENCODERS`."""

from eigenclean.deprecation import renamed_names
from eigenclean.features.choose import best_encoder, make_encoder
from eigenclean.features.encoders.base import IMAGE, TEXT, Encoder
from eigenclean.features.maps import encoder_maps
from eigenclean.features.registry import ENCODERS
from eigenclean.features.source import EmbeddedSource, embed_source, recompute_features

__all__ = [
    "ENCODERS",
    "IMAGE",
    "TEXT",
    "EmbeddedSource",
    "Encoder",
    "best_encoder",
    "embed_source",
    "encoder_maps",
    "make_encoder",
    "recompute_features",
]

__getattr__ = renamed_names(__name__, {"embedded_again": "recompute_features"})
