"""A trained classifier as a file that other libraries run. A new format is one file and one line in `FORMATS`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenclean.errors import InvalidOption
from eigenclean.extras import require
from eigenclean.train.probe.model import ProbeModel

if TYPE_CHECKING:
    from eigenclean.arrays import Array
    from eigenclean.train.estimator import RobustClassifier

__all__ = ["FORMATS", "ModelFormat"]


@dataclass(frozen=True)
class ModelFormat:
    """A file format for trained classifiers.

    Attributes:
        file: name of the file.
        write: writes a fitted classifier to a file, with its standardisation.
        run: probabilities of the classes (n x K) for inputs, by the library that reads such files; None for a
            format that holds weights only, or if that library is not installed.
    """

    file: str
    write: "Callable[[RobustClassifier, Path], None]"
    run: "Callable[[Path, Array], Array | None]"


def _write_onnx(model: "RobustClassifier", path: Path) -> None:
    """A trained network or probe for any runtime that reads ONNX."""
    if _is_probe(model):
        from eigenclean.train.export.probe_graph import write_probe_graph

        write_probe_graph(model.model_, model.classes_, path)  # type: ignore[arg-type]
        return
    from eigenclean.train.export.network import write_onnx

    write_onnx(model, path)


def _run_onnx(path: Path, inputs: "Array") -> "Array | None":
    from eigenclean.features.encoders.loading import is_installed

    if not is_installed("onnxruntime"):
        return None
    session: Any = require("onnxruntime", extra="onnx", caller="eigenclean export").InferenceSession(
        path.read_bytes(), providers=["CPUExecutionProvider"]
    )
    result: Array = session.run(["probabilities"], {session.get_inputs()[0].name: inputs})[0]
    return result


def _write_script(model: "RobustClassifier", path: Path) -> None:
    """A trained model for torch without eigenclean."""
    is_probe = _is_probe(model)
    require("torch", extra="train", caller="eigenclean export")
    from eigenclean.train.export.network import write_script

    write_script(model, path, is_probe=is_probe)


def _run_script(path: Path, inputs: "Array") -> "Array | None":
    from eigenclean.train.export.network import run_script

    return run_script(path, inputs)


def _write_weights(model: "RobustClassifier", path: Path) -> None:
    """The weights of a trained model alone."""
    require("safetensors", extra="train", caller="eigenclean export")
    if _is_probe(model):
        import numpy as np
        from safetensors.numpy import save

        arrays = model.model_.to_arrays()[1]  # type: ignore[attr-defined]
        path.write_bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
        return
    from eigenclean.train.export.network import write_weights

    write_weights(model, path)


def _is_probe(model: "RobustClassifier") -> bool:
    fitted = getattr(model, "model_", None)
    if fitted is not None and not isinstance(fitted, ProbeModel):
        raise InvalidOption(
            f"eigenclean export: {type(model.estimator).__name__} is an estimator of your own; export it with a "
            "tool for it, such as skl2onnx"
        )
    return fitted is not None


FORMATS: dict[str, ModelFormat] = {
    "onnx": ModelFormat("model.onnx", _write_onnx, _run_onnx),
    "torchscript": ModelFormat("model.pt", _write_script, _run_script),
    "safetensors": ModelFormat("model.safetensors", _write_weights, lambda path, inputs: None),
}
