"""Any torch module that takes images; also TorchScript files."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.features.encoders.base import IMAGE, Encoder
from eigenclean.features.encoders.device import choose_device, half_precision
from eigenclean.features.encoders.preprocess import Preprocess
from eigenclean.nets.wrapped import WrappedNet


class TorchEncoder(Encoder):
    """A torch module as an encoder of images.

    Args:
        module: takes n x 3 x size x size numbers, returns n x d features, or n x d x height x width maps, which are
            averaged over their pixels, or (features, anything).
        feature_layer: name of the submodule whose output is the feature, for a module that returns something else.
        name: what to call it.
        size: pixels of each side.
        mean: what to subtract from red, green and blue, which are from 0 to 1.
        std: what to divide them by.
        resampling: how images are scaled.
        device: where to run; None for the fastest available.
        half: compute with 16 bits and keep the features as float16.
        batch: images per batch.

    >>> encoder = TorchEncoder(nn.Sequential(nn.Flatten(), nn.Linear(48, 5)), size=4)
    >>> encoder.encode([np.zeros((4, 4, 3), np.uint8)]).shape
    (1, 5)
    """

    kind = IMAGE
    options: ClassVar[Sequence[str]] = ("size", "mean", "std", "resampling", "feature_layer")

    def __init__(
        self,
        module: nn.Module,
        *,
        feature_layer: str | None = None,
        name: str = "torch",
        size: int = 224,
        mean: Any = Preprocess.mean,
        std: Any = Preprocess.std,
        resampling: str = Preprocess.resampling,
        device: str | None = None,
        half: bool = False,
        batch: int = 64,
    ) -> None:
        if not isinstance(module, nn.Module):
            raise InvalidOption(f"encoder: must be a torch.nn.Module, got {type(module).__name__}")
        self.name, self.batch, self.half = name, batch, half
        self.dtype = np.dtype(np.float16 if half else np.float32)
        self.preprocess = Preprocess(size, mean, std, resampling)
        self.device = choose_device(device)
        self.feature_layer = feature_layer
        self._weights = module_digest(module)
        wrapped: Any = module if feature_layer is None else WrappedNet(module, feature_layer)
        # Channels last is the layout of the images in memory, and the fastest one for convolutions.
        self.module: nn.Module = wrapped.eval().to(self.device, memory_format=torch.channels_last)
        shape = (3, 1, 1)
        self._mean, self._scale = (
            torch.tensor(values, device=self.device).reshape(shape) * 255.0
            for values in (self.preprocess.mean, self.preprocess.std)
        )

    def about(self) -> dict[str, Any]:
        """What the features depend on: a hash of the weights, the layer, the precision and the preprocessing."""
        return {
            "weights": self._weights,
            "feature_layer": self.feature_layer,
            "half": self.half,
            **self.preprocess.about(),
        }

    def prepare(self, content: Any) -> Array:
        """The image as bytes of the right size."""
        return self.preprocess(content)

    def min_side(self) -> int:
        """Twice the input size: scaling down from there is as good as from the original."""
        return 2 * self.preprocess.size

    def encode(self, prepared: Sequence[Array]) -> Array:
        """Scale a batch of pixels to the inputs of the module, and run it up to the layer of the features."""
        pixels = torch.from_numpy(np.stack(prepared)).to(self.device)
        inputs = (pixels.permute(0, 3, 1, 2).float() - self._mean) / self._scale
        with torch.inference_mode(), half_precision(self.device, self.half):
            out = self.forward(inputs)
        return as_features(out, len(prepared), by=self.name).astype(self.dtype, copy=False)

    def forward(self, inputs: Tensor) -> Any:
        """The output of the module."""
        return self.outputs_of(self.module, inputs)

    @staticmethod
    def outputs_of(module: Any, inputs: Tensor) -> Any:
        """The outputs of the module from which features are taken; subclasses choose some of them."""
        return module(inputs)

    def trainable(self) -> nn.Module:
        """The module with this way to call it, to be fine-tuned."""
        return Backbone(self.module, self.outputs_of)


class Backbone(nn.Module):
    """A module that is called in the way of its encoder; its outputs are features, maps or sequences.

    Args:
        module: takes standardised images.
        outputs_of: calls it, see `TorchEncoder.outputs_of`.
    """

    def __init__(self, module: nn.Module, outputs_of: Callable[[Any, Tensor], Any]) -> None:
        super().__init__()
        self.module, self._outputs_of = module, outputs_of

    def forward(self, inputs: Tensor) -> Any:
        """The outputs for a batch."""
        return self._outputs_of(self.module, inputs)


class TorchScriptEncoder(TorchEncoder):
    """A TorchScript file (``torch.jit.save``) as an encoder of images; pickled modules are refused.

    Args:
        argument: path of the file.
        options: see `TorchEncoder`.
    """

    def __init__(self, argument: str, *, name: str | None = None, **options: Any) -> None:
        super().__init__(load_script(Path(argument)), name=name or f"torchscript:{argument}", **options)


def load_script(path: Path) -> nn.Module:
    """The module of a TorchScript file. Its code runs in torch's own interpreter, not in Python."""
    if not path.is_file():
        raise InvalidData(f"there is no file {path}; check the path of the encoder")
    try:
        load: Any = torch.jit.load
        module: nn.Module = load(str(path), map_location="cpu")
    except (RuntimeError, ValueError) as error:
        raise InvalidData(
            f"{path} is not a TorchScript file ({_first_line(error)}); a module that was saved otherwise is a "
            "pickle, which could run anything: save it with torch.jit.save, or export it to ONNX"
        ) from None
    return module


def module_digest(module: nn.Module) -> str:
    """A fingerprint of the weights and the layout of a module."""
    digest = hashlib.blake2b(digest_size=16)
    if isinstance(module, torch.jit.ScriptModule):
        digest.update(str(module.inlined_graph if hasattr(module, "inlined_graph") else module.graph).encode())
    else:
        digest.update(repr(module).encode())
    for name, value in module.state_dict().items():
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        flat = value.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data if flat.numel() else b"")
    return digest.hexdigest()


def as_features(out: Any, n_rows: int, *, by: str) -> Array:
    """The output of a network as an n x d array; feature maps are averaged over their pixels."""
    if isinstance(out, dict):
        out = next(iter(out.values()), None)
    if isinstance(out, tuple | list) and out:
        out = out[0]
    if not isinstance(out, Tensor):
        raise InvalidData(f"{by}: an encoder must return a tensor, got {type(out).__name__}")
    if out.ndim == 4:
        out = out.mean(dim=(2, 3))
    elif out.ndim == 3:
        out = out.mean(dim=1)
    if out.ndim != 2 or len(out) != n_rows:
        raise InvalidData(f"{by}: an encoder must return {n_rows} rows of features, got shape {tuple(out.shape)}")
    features: Array = out.float().cpu().numpy()
    return features


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160].rstrip(".")
