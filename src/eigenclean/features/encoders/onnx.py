"""Any ONNX file, run by onnxruntime: of images, or, with a tokenizer beside it, of texts."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
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
        name: the name that it was chosen by.
        size: pixels of each side, when the model does not say.
        mean: what to subtract from red, green and blue, which are from 0 to 1.
        std: what to divide them by.
        resampling: how images are scaled.
        output: name of the output.
        tokenizer: path of the tokenizer, when it is not beside the model.
        most_tokens: longer texts are truncated.
        device: "cpu", or None for the best that onnxruntime has.
        half: keep the features as float16.
        batch: contents per batch.
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
        inputs = {tensor.name: tensor for tensor in self._session.get_inputs()}
        outputs = [tensor.name for tensor in self._session.get_outputs()]
        if output is not None and output not in outputs:
            raise InvalidOption(f"encoder {self.name}: output must be one of {', '.join(outputs)}, got {output!r}")
        self._output = output or outputs[0]
        self._digest = hashlib.blake2b(self.path.read_bytes(), digest_size=16).hexdigest()
        self.dtype = np.dtype(np.float16 if half else np.float32)
        self.batch = batch
        if "input_ids" in inputs:
            self.kind = TEXT
            self._open_tokenizer(tokenizer, most_tokens)
            self._inputs = [name for name in _TOKENS if name in inputs]
        else:
            self.kind = IMAGE
            self._open_images(inputs, Preprocess(size or 224, mean, std, resampling), size)

    def about(self) -> dict[str, Any]:
        """The file and what is done to its inputs."""
        preprocessing = self._preprocess.about() if self.kind == IMAGE else {"tokenizer": self._tokenizer_digest}
        return {"weights": self._digest, "output": self._output, **preprocessing}

    def prepare(self, content: Any) -> Any:
        """An image as bytes of the right size; texts stay as they are."""
        return self._preprocess(content) if self.kind == IMAGE else content

    def min_side(self) -> int | None:
        """Twice the input size: scaling down from there is as good as from the original."""
        return 2 * self._preprocess.size if self.kind == IMAGE else None

    def encode(self, prepared: Sequence[Any]) -> Array:
        """The output of the model; batches are padded for a model with a fixed batch size."""
        step = self._fixed if self.kind == IMAGE and self._fixed else len(prepared)
        outputs = []
        for start in range(0, len(prepared), step):
            batch = list(prepared[start : start + step])
            padded = batch + batch[-1:] * (step - len(batch))
            outputs.append(self._run(padded)[: len(batch)])
        return np.concatenate(outputs).astype(self.dtype, copy=False)

    def _run(self, prepared: list[Any]) -> Array:
        inputs, mask = self._tokens(prepared) if self.kind == TEXT else self._pixels(prepared)
        output: Array = np.asarray(self._session.run([self._output], inputs)[0], dtype=np.float32)
        if mask is not None and output.ndim == 3:
            weights = mask[:, :, None].astype(np.float32)
            return np.asarray((output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1))
        if output.ndim == 4:
            output = output.mean(axis=(1, 2) if self._channels_last else (2, 3))
        elif output.ndim == 3:
            output = output.mean(axis=1)
        if output.ndim != 2 or len(output) != len(prepared):
            raise InvalidData(
                f"encoder {self.name}: must return {len(prepared)} rows of features, got shape {output.shape}"
            )
        return output

    def _pixels(self, prepared: list[Array]) -> tuple[dict[str, Array], None]:
        mean, std = (np.array(values, np.float32) for values in (self._preprocess.mean, self._preprocess.std))
        numbers = (np.stack(prepared).astype(np.float32) / 255 - mean) / std
        if not self._channels_last:
            numbers = numbers.transpose(0, 3, 1, 2)
        return {self._input: np.ascontiguousarray(numbers, dtype=self._type)}, None

    def _tokens(self, prepared: list[str]) -> tuple[dict[str, Array], Array]:
        encodings = self._tokenizer.encode_batch(prepared)
        ids = np.array([encoding.ids for encoding in encodings], dtype=np.int64)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        inputs = dict(zip(_TOKENS, (ids, mask, np.zeros_like(ids)), strict=True))
        return {name: inputs[name] for name in self._inputs}, mask

    def _open_images(self, inputs: dict[str, Any], preprocess: Preprocess, size: int | None) -> None:
        image_inputs = [tensor for tensor in inputs.values() if len(tensor.shape) == 4 and tensor.type in _TYPES]
        if len(inputs) != 1 or not image_inputs:
            described = ", ".join(f"{tensor.name} {tensor.type} {tensor.shape}" for tensor in inputs.values())
            raise InvalidData(
                f"encoder {self.name}: must have one input of n x 3 x height x width numbers, or input_ids for "
                f"texts; it has {described}"
            )
        (tensor,) = image_inputs
        self._input, self._type = tensor.name, _TYPES[tensor.type]
        self._channels_last = tensor.shape[3] == 3 and tensor.shape[1] != 3
        self._fixed = tensor.shape[0] if isinstance(tensor.shape[0], int) else None
        model_size = tensor.shape[1 if self._channels_last else 2]
        if isinstance(model_size, int) and size is not None and size != model_size:
            raise InvalidOption(f"encoder {self.name}: was made for {model_size} pixels, got size {size}")
        if isinstance(model_size, int):
            preprocess = replace(preprocess, size=model_size)
        self._preprocess = preprocess

    def _open_tokenizer(self, tokenizer: str | None, most_tokens: int) -> None:
        library = require("tokenizers", extra="embed", caller=f"encoder {self.name}")
        path = self.path.parent / "tokenizer.json" if tokenizer is None else Path(tokenizer)
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
        self._tokenizer_digest = hashlib.blake2b(
            path.read_bytes() + str(most_tokens).encode(), digest_size=16
        ).hexdigest()


def _session(runtime: Any, path: Path, device: str | None) -> Any:
    options = runtime.SessionOptions()
    if os.environ.get("OMP_NUM_THREADS", "").isdigit():  # as everything else; onnxruntime has threads of its own
        options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    providers = ["CPUExecutionProvider"] if device == "cpu" else runtime.get_available_providers()
    try:
        return runtime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # onnxruntime's own exceptions have no common root
        reason = (str(error).splitlines() or [""])[0][:200]
        raise InvalidData(f"{path} is not a readable ONNX file: {reason}; export it again") from None
