"""Any model of sentence-transformers, by name or folder."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.extras import require
from eigenclean.features.encoders.base import TEXT, Encoder
from eigenclean.features.encoders.device import choose_device, half_precision
from eigenclean.features.encoders.loading import loading
from eigenclean.features.encoders.torch_module import module_digest


class SentenceEncoder(Encoder):
    """A model of sentence-transformers as an encoder of texts; code that comes with a model is not run.

    Args:
        argument: name of a model on the hub, or the folder of one.
        name: what it was chosen by.
        device: where to run; None for the best there is.
        half: compute with 16 bits and keep the features as float16.
        batch: texts at a time.
    """

    kind = TEXT

    def __init__(
        self,
        argument: str,
        *,
        name: str | None = None,
        device: str | None = None,
        half: bool = False,
        batch: int = 64,
    ) -> None:
        self.name = name or f"sentence-transformers:{argument}"
        library = require("sentence_transformers", extra=None, caller=f"encoder {self.name}")
        self.device = choose_device(device)
        with loading(self.name):
            self._model: Any = library.SentenceTransformer(
                argument, device=str(self.device), trust_remote_code=False
            )
        self._model.eval()
        self._weights = module_digest(self._model)
        self._step = batch
        # More at once than go through the network: the model sorts them by length, and pads less.
        self.batch, self.half = 16 * batch, half
        self.dtype = np.dtype(np.float16 if half else np.float32)

    def about(self) -> dict[str, Any]:
        """Weights and what is done to long texts."""
        return {"weights": self._weights, "most_tokens": self._model.max_seq_length, "half": self.half}

    def prepare(self, content: str) -> str:
        """The text as it is: the tokenizer takes batches."""
        return content

    def encode(self, prepared: Sequence[str]) -> Array:
        """What the model says."""
        with half_precision(self.device, self.half):
            found = self._model.encode(
                list(prepared), batch_size=self._step, convert_to_numpy=True, show_progress_bar=False
            )
        features: Array = np.asarray(found).astype(self.dtype, copy=False)
        return features
