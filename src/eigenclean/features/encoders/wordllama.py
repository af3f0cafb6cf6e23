"""WordLlama: a table of word vectors inside an ordinary package; fast, and nothing is downloaded."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.extras import require
from eigenclean.features.encoders.base import TEXT, Encoder
from eigenclean.features.encoders.loading import package_folder

_TABLE, _TOKENIZER = "l2_supercat_256.safetensors", "l2_supercat_tokenizer_config.json"


class WordLlama(Encoder):
    """The mean of the vectors of a text's words, 256 features: thousands of texts a second on one core.

    The table and the tokenizer are read from the package ``wordllama``; its own loader, which may go to the
    network, is not used.

    Args:
        name: the name that it was chosen by.
        half: keep the features as float16.
        batch: texts per batch.
    """

    kind = TEXT

    def __init__(
        self, *, name: str = "wordllama", device: str | None = None, half: bool = False, batch: int = 1024
    ) -> None:
        caller = f"encoder {name}"
        folder = package_folder("wordllama", caller=caller)
        table, tokenizer = folder / "weights" / _TABLE, folder / "tokenizers" / _TOKENIZER
        for path in (table, tokenizer):
            if not path.is_file():
                raise InvalidData(f"{caller}: there is no file {path}; install wordllama 0.4 again")
        tensors = require("safetensors.numpy", extra="embed", caller=caller).load_file(table)
        self._vectors: Array = next(iter(tensors.values())).astype(np.float32)
        self._tokenizer: Any = require("tokenizers", extra="embed", caller=caller).Tokenizer.from_file(
            str(tokenizer)
        )
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._digest = hashlib.blake2b(table.read_bytes() + tokenizer.read_bytes(), digest_size=16).hexdigest()
        self.name, self.batch = name, batch
        self.dtype = np.dtype(np.float16 if half else np.float32)

    def about(self) -> dict[str, Any]:
        """What the features depend on: hashes of the table of word vectors and of the tokenizer."""
        return {"weights": self._digest, "pooling": "mean"}

    def prepare(self, content: str) -> str:
        """The text as it is: the tokenizer takes batches."""
        return content

    def encode(self, prepared: Sequence[str]) -> Array:
        """Mean vectors, computed from sums over all tokens of the batch."""
        encodings = self._tokenizer.encode_batch_fast(list(prepared), add_special_tokens=False)
        lengths = np.array([len(encoding) for encoding in encodings])
        tokens = np.concatenate([np.array(encoding.ids, dtype=np.int64) for encoding in encodings])
        features = np.full((len(encodings), self._vectors.shape[1]), np.nan, dtype=np.float32)
        has_tokens = lengths > 0  # a text without tokens has no mean
        if has_tokens.any():
            starts = np.cumsum(lengths) - lengths
            tokens = np.minimum(tokens, len(self._vectors) - 1)
            sums = np.add.reduceat(self._vectors[tokens], starts[has_tokens], axis=0)
            features[has_tokens] = sums / lengths[has_tokens, None]
        return features.astype(self.dtype, copy=False)
