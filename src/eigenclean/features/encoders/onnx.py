"""Any ONNX file, run by onnxruntime: of images, or, with a tokenizer beside it, of texts."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.extras import require
from eigenclean.features.encoders.base import IMAGE, TEXT, Encoder
from eigenclean.features.encoders.preprocess import Preprocess

_TOKENS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


class OnnxEncoder(Encoder):
    """An ONNX file as an encoder.

    A model with an input ``input_ids`` is one of texts and needs the ``tokenizer.json`` of its model beside it; any
    other must have one input of n x 3 x height x width or n x height x width x 3 numbers. Features are the first
    output (or that named ``output``): n x d as they are, hidden states averaged over words, maps over pixels.

    Args:
        argument: path of the file.
        name: what it was chosen by.
        size: pixels of each side, when the model does not say.
        mean: what to subtract from red, green and blue, which are from 0 to 1.
        std: what to divide them by.
        resampling: how images are scaled.
        output: name of the output.
        tokenizer: path of the tokenizer, when it is not beside the model.
        most_tokens: longer texts are cut.
        device: "cpu", or None for the best that onnxruntime has.
        half: keep the features as float16.
        batch: contents at a time.
    """

    options = ("size", "mean", "std", "resampling", "output", "tokenizer", "most_tokens")

    def __init__(
        self,
        argument: str,
        *,
        name: str | None = None,
        size: int | None = None,
        mean: Any = Preprocess.mean,
        std: Any = Preprocess.std,
        resampling: str = Preprocess.resampling,
        output: str | None = None,
        tokenizer: str | None = None,
        most_tokens: int = 256,
        device: str | None = None,
        half: bool = False,
        batch: int = 32,
    ) -> None:
        self.name = name or f"onnx:{argument}"
        self.path = Path(argument)
        if not self.path.is_file():
            raise InvalidData(f"there is no file {self.path}; check the path of the encoder")
        runtime = require("onnxruntime", extra="embed", caller=f"encoder {self.name}")
        self._session: Any = _session(runtime, self.path, device)
        inputs = {one.name: one for one in self._session.get_inputs()}
        outputs = [one.name for one in self._session.get_outputs()]
        if output is not None and output not in outputs:
            raise InvalidOption(f"encoder {self.name}: output must be one of {', '.join(outputs)}, got {output!r}")
        self._output = output or outputs[0]
        self._digest = hashlib.blake2b(self.path.read_bytes(), digest_size=16).hexdigest()
        self.dtype = np.dtype(np.float16 if half else np.float32)
        self.batch = batch
        if "input_ids" in inputs:
            self.kind = TEXT
            self._open_tokenizer(tokenizer, most_tokens)
            self._inputs = [one for one in _TOKENS if one in inputs]
        else:
            self.kind = IMAGE
            self._open_images(inputs, Preprocess(size or 224, mean, std, resampling), size)

    def about(self) -> dict[str, Any]:
        """The file and what is done to its inputs."""
        before = self._preprocess.about() if self.kind == IMAGE else {"tokenizer": self._words}
        return {"weights": self._digest, "output": self._output, **before}

    def prepare(self, content: Any) -> Any:
        """An image as bytes of the right size; texts stay as they are."""
        return self._preprocess(content) if self.kind == IMAGE else content

    def shortest(self) -> int | None:
        """Twice the size: scaling down from there is as good as from the original."""
        return 2 * self._preprocess.size if self.kind == IMAGE else None

    def encode(self, prepared: Sequence[Any]) -> Array:
        """What the model says; one whose batches have a fixed size gets them filled up."""
        step = self._fixed if self.kind == IMAGE and self._fixed else len(prepared)
        parts = []
        for start in range(0, len(prepared), step):
            some = list(prepared[start : start + step])
            filled = some + some[-1:] * (step - len(some))
            parts.append(self._run(filled)[: len(some)])
        return np.concatenate(parts).astype(self.dtype, copy=False)

    def _run(self, prepared: list[Any]) -> Array:
        fed, mask = self._tokens(prepared) if self.kind == TEXT else self._pixels(prepared)
        found: Array = np.asarray(self._session.run([self._output], fed)[0], dtype=np.float32)
        if mask is not None and found.ndim == 3:
            weights = mask[:, :, None].astype(np.float32)
            return np.asarray((found * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1))
        if found.ndim == 4:
            found = found.mean(axis=(1, 2) if self._last else (2, 3))
        elif found.ndim == 3:
            found = found.mean(axis=1)
        if found.ndim != 2 or len(found) != len(prepared):
            raise InvalidData(
                f"encoder {self.name}: must return {len(prepared)} rows of features, got shape {found.shape}"
            )
        return found

    def _pixels(self, prepared: list[Array]) -> tuple[dict[str, Array], None]:
        mean, std = (np.array(values, np.float32) for values in (self._preprocess.mean, self._preprocess.std))
        numbers = (np.stack(prepared).astype(np.float32) / 255 - mean) / std
        if not self._last:
            numbers = numbers.transpose(0, 3, 1, 2)
        return {self._input: np.ascontiguousarray(numbers, dtype=self._type)}, None

    def _tokens(self, prepared: list[str]) -> tuple[dict[str, Array], Array]:
        found = self._tokenizer.encode_batch(prepared)
        ids = np.array([one.ids for one in found], dtype=np.int64)
        mask = np.array([one.attention_mask for one in found], dtype=np.int64)
        fed = dict(zip(_TOKENS, (ids, mask, np.zeros_like(ids)), strict=True))
        return {name: fed[name] for name in self._inputs}, mask

    def _open_images(self, inputs: dict[str, Any], preprocess: Preprocess, size: int | None) -> None:
        pictures = [one for one in inputs.values() if len(one.shape) == 4 and one.type in _TYPES]
        if len(inputs) != 1 or not pictures:
            described = ", ".join(f"{one.name} {one.type} {one.shape}" for one in inputs.values())
            raise InvalidData(
                f"encoder {self.name}: must have one input of n x 3 x height x width numbers, or input_ids for "
                f"texts; it has {described}"
            )
        only = pictures[0]
        self._input, self._type = only.name, _TYPES[only.type]
        self._last = only.shape[3] == 3 and only.shape[1] != 3
        self._fixed = only.shape[0] if isinstance(only.shape[0], int) else None
        own = only.shape[1 if self._last else 2]
        if isinstance(own, int) and size is not None and size != own:
            raise InvalidOption(f"encoder {self.name}: was made for {own} pixels, got size {size}")
        side = own if isinstance(own, int) else preprocess.size
        self._preprocess = Preprocess(side, preprocess.mean, preprocess.std, preprocess.resampling)

    def _open_tokenizer(self, given: str | None, most_tokens: int) -> None:
        library = require("tokenizers", extra="embed", caller=f"encoder {self.name}")
        path = self.path.parent / "tokenizer.json" if given is None else Path(given)
        if not path.is_file():
            raise InvalidData(
                f"encoder {self.name} is one of texts, but there is no tokenizer {path}; put it there or name it: "
                f"{self.name}?tokenizer=PATH"
            )
        try:
            self._tokenizer = library.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises nothing more special
            raise InvalidData(f"{path} is not a tokenizer: {error}; take the tokenizer.json of the model") from None
        self._tokenizer.enable_truncation(most_tokens)
        self._tokenizer.enable_padding()
        self._words = hashlib.blake2b(path.read_bytes() + str(most_tokens).encode(), digest_size=16).hexdigest()


def _session(runtime: Any, path: Path, device: str | None) -> Any:
    import os

    options = runtime.SessionOptions()
    if os.environ.get("OMP_NUM_THREADS", "").isdigit():  # as everything else; onnxruntime has threads of its own
        options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    providers = ["CPUExecutionProvider"] if device == "cpu" else runtime.get_available_providers()
    try:
        return runtime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # onnxruntime's own exceptions have no common root
        reason = (str(error).splitlines() or [""])[0][:200]
        raise InvalidData(f"{path} is not a readable ONNX file: {reason}; export it again") from None
