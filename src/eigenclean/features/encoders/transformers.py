"""Any text or image model of Hugging Face transformers, by name or folder; no code of a model is run."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.extras import require
from eigenclean.features.encoders.base import IMAGE, TEXT, Encoder
from eigenclean.features.encoders.device import choose_device, half_precision
from eigenclean.features.encoders.loading import explain_load_errors
from eigenclean.features.encoders.torch_module import TorchEncoder, module_digest

_RESAMPLINGS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}


class TransformersText(Encoder):
    """A text model: the mean of its last hidden states over the tokens of a text, or the state of the first one.

    Args:
        argument: name of a model on the hub, or the folder of one.
        name: the name that it was chosen by.
        pooling: "mean", or "first" for models that were trained that way.
        most_tokens: longer texts are truncated.
        device: where to run; None for the fastest available.
        half: compute with 16 bits and keep the features as float16.
        batch: texts per batch.
    """

    kind = TEXT
    options = ("pooling", "most_tokens")

    def __init__(
        self,
        argument: str,
        *,
        name: str | None = None,
        pooling: str = "mean",
        most_tokens: int = 256,
        device: str | None = None,
        half: bool = False,
        batch: int = 64,
    ) -> None:
        self.name = name or f"transformers:{argument}"
        if pooling not in ("mean", "first"):
            raise InvalidOption(f"encoder {self.name}: pooling must be mean or first, got {pooling!r}")
        library = require("transformers", extra=None, caller=f"encoder {self.name}")
        self.device = choose_device(device)
        with explain_load_errors(self.name):
            self._tokenizer: Any = library.AutoTokenizer.from_pretrained(argument, trust_remote_code=False)
            model: Any = library.AutoModel.from_pretrained(argument, trust_remote_code=False)
        # Of an encoder-decoder, only the encoder.
        self._model: Any = model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else model
        self._model.eval().to(self.device)
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        longest = getattr(model.config, "max_position_embeddings", None)
        self._most = min(most_tokens, longest) if isinstance(longest, int) and longest > 0 else most_tokens
        self._weights = module_digest(self._model)
        self._pooling, self._step = pooling, batch
        self.batch, self.half = 16 * batch, half
        self.dtype = np.dtype(np.float16 if half else np.float32)

    def about(self) -> dict[str, Any]:
        """What the features depend on: a hash of the weights, the pooling and the length at which texts are cut."""
        return {"weights": self._weights, "pooling": self._pooling, "most_tokens": self._most, "half": self.half}

    def prepare(self, content: str) -> str:
        """The text as it is: the tokenizer takes batches."""
        return content

    def encode(self, prepared: Sequence[str]) -> Array:
        """Pooled hidden states; texts of similar length share a batch, which saves padding."""
        import torch

        order = np.argsort([len(text) for text in prepared], kind="stable")
        batches = []
        with torch.inference_mode(), half_precision(self.device, self.half):
            for start in range(0, len(order), self._step):
                texts = [prepared[index] for index in order[start : start + self._step].tolist()]
                tokens = self._tokenizer(
                    texts, padding=True, truncation=True, max_length=self._most, return_tensors="pt"
                ).to(self.device)
                hidden = self._model(**tokens).last_hidden_state.float()
                mask = tokens["attention_mask"].unsqueeze(-1).float()
                pooled = (hidden * mask).sum(1) / mask.sum(1) if self._pooling == "mean" else hidden[:, 0]
                batches.append(pooled.cpu().numpy())
        features: Array = np.empty((len(prepared), batches[0].shape[1]), dtype=self.dtype)
        features[order] = np.concatenate(batches)
        return features


class TransformersImage(TorchEncoder):
    """An image model: its pooled output, else the mean of its last hidden states.

    The preprocessing is what its ``preprocessor_config.json`` says about size, mean and deviation.

    Args:
        argument: name of a model on the hub, or the folder of one.
        name: the name that it was chosen by.
        size: pixels of each side, by default those of the model.
        device: where to run; None for the fastest available.
        half: compute with 16 bits and keep the features as float16.
        batch: images per batch.
    """

    kind = IMAGE
    options = ("size",)

    def __init__(
        self,
        argument: str,
        *,
        name: str | None = None,
        size: int | None = None,
        device: str | None = None,
        half: bool = False,
        batch: int = 32,
    ) -> None:
        name = name or f"transformers-image:{argument}"
        library = require("transformers", extra=None, caller=f"encoder {name}")
        with explain_load_errors(name):
            model = library.AutoModel.from_pretrained(argument, trust_remote_code=False)
            # Only the configuration: the processor itself requires torchvision.
            config, _ = library.ImageProcessingMixin.get_image_processor_dict(argument)
        vision_model = getattr(model, "vision_model", model)  # of a model of images and texts, the part for images
        super().__init__(
            vision_model,
            name=name,
            size=size or _side(config, name),
            mean=tuple(config.get("image_mean") or (0.0, 0.0, 0.0)),
            std=tuple(config.get("image_std") or (1.0, 1.0, 1.0)),
            resampling=_RESAMPLINGS.get(config.get("resample", 3), "bicubic"),
            device=device,
            half=half,
            batch=batch,
        )

    @staticmethod
    def outputs_of(module: Any, inputs: Any) -> Any:
        """The pooled output, or the last hidden states to be averaged."""
        out: Any = module(pixel_values=inputs)
        pooled = getattr(out, "pooler_output", None)
        features = out.last_hidden_state if pooled is None else pooled
        return features.flatten(1) if features.ndim == 4 and features.shape[2:] == (1, 1) else features


def _side(config: dict[str, Any], name: str) -> int:
    """The side of the square that the model was made for."""
    for key in ("crop_size", "size"):
        value = config.get(key)
        if isinstance(value, int):
            return value
        if isinstance(value, dict):
            for inner in ("height", "shortest_edge"):
                if isinstance(value.get(inner), int):
                    return int(value[inner])
    raise InvalidData(f"encoder {name}: its settings do not say how large images must be; add ?size=224")
