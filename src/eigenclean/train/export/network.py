"""Trained networks with their standardisation as one module, and its files: ONNX, TorchScript, safetensors."""

import io
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData
from eigenclean.train.estimator import RobustClassifier
from eigenclean.train.export.probe_module import ProbeClassifier
from eigenclean.train.probe.model import ProbeModel

_OPSET = 17


class NetworkClassifier(nn.Module):
    """From raw inputs to probabilities: features as they are given, or images with pixels from 0 to 1.

    Args:
        model: a fitted classifier with networks.
    """

    _mean: Tensor
    _scale: Tensor

    def __init__(self, model: RobustClassifier) -> None:
        super().__init__()
        inputs = model.inputs_
        self.networks = nn.ModuleList(model.networks_)
        shape = (1, -1, 1, 1) if inputs.are_images else (1, -1)
        # Features are standardised in double precision, as in training: a column may be far from 0.
        kind = torch.float32 if inputs.are_images else torch.float64
        self.register_buffer("_mean", torch.from_numpy(inputs.scaling.mean).to(kind).reshape(shape))
        self.register_buffer("_scale", torch.from_numpy(inputs.scaling.scale).to(kind).reshape(shape))
        self._transform = None if inputs.augment is None else inputs.augment.eval_transform

    def forward(self, inputs: Tensor) -> Tensor:
        """Probabilities of the classes, n x K."""
        if self._transform is not None:
            inputs = self._transform(inputs)
        scaled = ((inputs.to(self._mean.dtype) - self._mean) / self._scale).float()
        logits = torch.stack([net(scaled)[1] for net in self.networks]).mean(dim=0)
        return torch.softmax(logits, dim=1)


def write_onnx(model: RobustClassifier, path: Path) -> None:
    """Write the graph: ``features`` or ``pixels`` to ``probabilities``; the number of rows is free."""
    module, example = _classifier(model)
    name = "pixels" if model.inputs_.are_images else "features"
    buffer: Any = io.BytesIO()
    with _quiet():
        try:
            # The exporter of TorchScript needs no further library; the other one would.
            torch.onnx.export(
                module,
                (example,),
                buffer,
                dynamo=False,
                opset_version=_OPSET,
                input_names=[name],
                output_names=["probabilities"],
                dynamic_axes={name: {0: "n"}, "probabilities": {0: "n"}},
            )
        except (RuntimeError, torch.onnx.errors.OnnxExporterError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:200].rstrip(".")
            raise InvalidData(
                f"eigenclean export: the network cannot be written as ONNX: {reason}; take --to torchscript"
            ) from None
    path.write_bytes(buffer.getvalue())


def write_script(model: RobustClassifier, path: Path, *, is_probe: bool = False) -> None:
    """Write the traced module, which torch runs without this package; the classes are in ``classes.json`` of it."""
    module, example = _probe_classifier(model) if is_probe else _classifier(model)
    with _quiet(), torch.no_grad():
        jit: Any = torch.jit  # untyped
        classes = json.dumps(model.classes_.tolist(), ensure_ascii=False)
        jit.save(jit.trace(module, (example,)), str(path), _extra_files={"classes.json": classes})


def run_script(path: Path, inputs: Array) -> Array:
    """Probabilities by the written module."""
    with _quiet(), torch.no_grad():
        load: Any = torch.jit.load
        probabilities: Tensor = load(str(path), map_location="cpu")(torch.from_numpy(inputs))
    return np.asarray(probabilities.numpy())


def write_weights(model: RobustClassifier, path: Path) -> None:
    """Write the tensors of the networks by their names in torch, after the number of the network."""
    tensors = {
        f"{number}.{name}": value.cpu().contiguous()
        for number, net in enumerate(model.networks_)
        for name, value in net.state_dict().items()
    }
    scaling = model.inputs_.scaling
    tensors |= {"scaling.mean": torch.from_numpy(scaling.mean), "scaling.scale": torch.from_numpy(scaling.scale)}
    path.write_bytes(save(tensors))


def _classifier(model: RobustClassifier) -> tuple[nn.Module, Tensor]:
    """The module in evaluation mode on the processor, and an example of its input."""
    module = NetworkClassifier(model).cpu().eval()
    shape = model.inputs_.shape
    return module, torch.rand(2, *((shape,) if isinstance(shape, int) else shape))


def _probe_classifier(model: RobustClassifier) -> tuple[nn.Module, Tensor]:
    assert isinstance(model.model_, ProbeModel)
    return ProbeClassifier(model.model_).eval(), torch.rand(2, model.n_features_in_)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without torch's advice about other exporters and about shapes that become constants, as is intended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
