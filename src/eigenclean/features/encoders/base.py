"""The interface of encoders: images or texts become features, in two steps."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from eigenclean.arrays import Array

IMAGE, TEXT = "image", "text"


class Encoder(ABC):
    """Turns contents into features: `prepare` one in a background thread, `encode` a batch in the main one.

    Attributes:
        kind: what it takes, "image" (an RGB ``PIL.Image``) or "text" (a string).
        name: the name that it was chosen by.
        batch: number of contents per call of `encode`.
        dtype: of the features.
        options: names of the options that `make_encoder` accepts for it.
    """

    kind: str
    name: str
    batch: int = 64
    dtype: np.dtype[Any] = np.dtype(np.float32)
    options: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Everything that determines the features of a content, for JSON: weights and preprocessing."""

    @abstractmethod
    def prepare(self, content: Any) -> Any:
        """Preprocess one content; may run in several threads at once."""

    @abstractmethod
    def encode(self, prepared: Sequence[Any]) -> Array:
        """The features of a batch, n x d."""

    def min_side(self) -> int | None:
        """Pixels that the shorter side of an image must keep when it is decoded; None for full size."""
        return None

    def key(self) -> str:
        """A fingerprint of `about`: equal keys, equal features."""
        described = json.dumps({"name": self.name, "dtype": self.dtype.str, **self.about()}, sort_keys=True)
        return hashlib.blake2b(described.encode(), digest_size=12).hexdigest()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"
