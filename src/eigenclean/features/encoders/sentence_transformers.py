"""Any model of sentence-transformers, by name or folder."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.extras import require
from eigenclean.features.encoders.base import TEXT, Encoder
from eigenclean.features.encoders.device import choose_device, half_precision
from eigenclean.features.encoders.loading import explain_load_errors
from eigenclean.features.encoders.torch_module import module_digest


class SentenceEncoder(Encoder):
    """A model of sentence-transformers as an encoder of texts; code that comes with a model is not run.

    Args:
        argument: name of a model on the hub, or the folder of one.
        name: the name that it was chosen by.
        device: where to run; None for the fastest available.
        half: compute with 16 bits and keep the features as float16.
        batch: texts per batch.
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
        with explain_load_errors(self.name):
            self._model: Any = library.SentenceTransformer(
                argument, device=str(self.device), trust_remote_code=False
            )
        self._model.eval()
        self._weights = module_digest(self._model)
        self._step = batch
        # Larger than the network's batches: the model sorts a batch by length, which saves padding.
        self.batch, self.half = 16 * batch, half
        self.dtype = np.dtype(np.float16 if half else np.float32)

    def about(self) -> dict[str, Any]:
        """Weights and the length at which texts are truncated."""
        return {"weights": self._weights, "most_tokens": self._model.max_seq_length, "half": self.half}

    def prepare(self, content: str) -> str:
        """The text as it is: the tokenizer takes batches."""
        return content

    def encode(self, prepared: Sequence[str]) -> Array:
        """The embeddings of the model."""
        with half_precision(self.device, self.half):
            embeddings = self._model.encode(
                list(prepared), batch_size=self._step, convert_to_numpy=True, show_progress_bar=False
            )
        features: Array = np.asarray(embeddings).astype(self.dtype, copy=False)
        return features
