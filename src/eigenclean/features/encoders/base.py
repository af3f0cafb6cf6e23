"""What every encoder is: something that turns images or texts into features, in two steps."""

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
        name: what it was chosen by.
        batch: how many contents at a time.
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
        """Everything that decides about the features of a content: weights and preprocessing, as JSON."""

    @abstractmethod
    def prepare(self, content: Any) -> Any:
        """One content, made ready; may run in several threads at once."""

    @abstractmethod
    def encode(self, prepared: Sequence[Any]) -> Array:
        """The features of several, n x d."""

    def shortest(self) -> int | None:
        """How many pixels the shorter side of an image needs at least; None for all there are."""
        return None

    def key(self) -> str:
        """A fingerprint of `about`: equal keys, equal features."""
        described = json.dumps({"name": self.name, "dtype": self.dtype.str, **self.about()}, sort_keys=True)
        return hashlib.blake2b(described.encode(), digest_size=12).hexdigest()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"
