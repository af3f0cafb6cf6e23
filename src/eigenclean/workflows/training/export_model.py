"""`eigenclean export RUN --to onnx`: the model of a training run for other libraries, in a folder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenclean.arrays import Array
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.files import write_json, write_text
from eigenclean.names import check_name
from eigenclean.publication import publication
from eigenclean.report.run_folder import ENCODING
from eigenclean.train import RobustClassifier
from eigenclean.train.export import FORMATS
from eigenclean.train.probe.recipe import PROBE
from eigenclean.version import __version__
from eigenclean.workflows.embedding import EmbeddingOptions
from eigenclean.workflows.options import Notify, SourceOptions, ignore
from eigenclean.workflows.predict import run_inputs

MAX_DIFFERENCE = 1e-5
ABOUT, README = "about.json", "README.md"
_MAX_CHECKED = 1000
_N_DRAWN = 64


@dataclass(frozen=True)
class ExportedModel:
    """The exported file, and how its predictions compare with those of the run.

    Attributes:
        file: the model.
        n_checked: number of rows for which file and run were compared; 0 if the file cannot be run here.
        difference: largest difference of a probability; None without a check.
        real_rows: whether these were rows of a source, and not drawn at random.
    """

    file: Path
    n_checked: int
    difference: float | None
    real_rows: bool


def export_model(
    run: Path,
    to: str,
    out: Path,
    *,
    rows: str | None = None,
    reading: SourceOptions | None = None,
    notify: Notify = ignore,
) -> ExportedModel:
    """Write the model in the folder ``run`` in the format ``to``, checked against the run on some rows.

    Args:
        run: folder that `run_training` or `RobustClassifier.save` wrote.
        to: a name in `FORMATS`.
        out: the folder to write: the model, ``about.json`` (classes, inputs, preprocessing) and ``README.md``.
        rows: a source whose rows the file and the run must predict alike; by default rows that are drawn at random.
        reading: how that source is opened.
        notify: told when the file cannot be checked here.
    """
    check_name(to, FORMATS, by="eigenclean export", what="--to")
    if out.suffix in (".onnx", ".pt", ".pth", ".safetensors", ".json", ".csv") or out.is_file():
        raise InvalidOption(f"eigenclean export: --to {to} writes a folder, got --out {out}")
    model = RobustClassifier.load(run)
    inputs = _checked_inputs(model, rows, reading)
    chosen = FORMATS[to]
    with publication(out) as staging:
        file = staging / chosen.file
        chosen.write(model, file)
        result = chosen.run(file, inputs)
        difference = None if result is None else _difference(model, inputs, result)
        if result is None and to == "onnx":
            notify("note: the file was not checked: pip install 'eigenclean[onnx]' to do so")
        description = describe(model, to, chosen.file, None if difference is None else (len(inputs), difference))
        write_json(staging / ABOUT, description)
        write_text(staging / README, readme(description))
        if model.raw_rows_.encoding is not None:
            model.raw_rows_.encoding.save(staging / ENCODING)
    checked = 0 if difference is None else len(inputs)
    return ExportedModel(out / chosen.file, checked, difference, rows is not None)


def describe(model: RobustClassifier, to: str, file: str, checked: tuple[int, float] | None) -> dict[str, Any]:
    """What is needed to use the file: inputs, preprocessing, classes."""
    images = not hasattr(model, "model_") and model.inputs_.are_images
    shape: Any = model.inputs_.shape if images else [model.n_features_in_]
    embedding, encoding = model.raw_rows_.embedding, model.raw_rows_.encoding
    names = ("encoder", "kind", "size", "mean", "std", "resampling", "weights")
    return {
        "format": to,
        "file": file,
        "eigenclean": __version__,
        "recipe": model.recipe_.name,
        "classes": model.classes_.tolist(),
        "input": {
            "name": "pixels" if images else "features",
            "type": "float32",
            "shape": ["n", *shape],
            "meaning": "red, green, blue from 0 to 1" if images else "numbers as in training, not standardised",
        },
        "output": {"name": "probabilities", "shape": ["n", len(model.classes_)]},
        "embedding": None if embedding is None else {name: embedding[name] for name in names if name in embedding},
        "columns": None if encoding is None else list(encoding.columns),
        "checked": None if checked is None else {"rows": checked[0], "largest_difference": checked[1]},
    }


def readme(description: Mapping[str, Any]) -> str:
    """The description as Markdown."""
    steps = []
    if description["columns"] is not None:
        steps.append(
            f"Columns become numbers as `{ENCODING}` says: `eigenclean.tables.TableEncoding.load` reads it."
        )
    if description["embedding"] is not None:
        embedding = description["embedding"]
        steps.append(f"Every {embedding['kind']} is embedded by the encoder `{embedding['encoder']}` first.")
    given = description["input"]
    steps.append(f"Input: `{given['name']}`, {given['type']}, {given['shape']}: {given['meaning']}.")
    if description["format"] != "safetensors":
        steps.append("Standardisation is inside the file.")
    else:
        steps.append(_ARRAYS if description["recipe"] == PROBE else _WEIGHTS)
    steps.append(f"Output: probabilities of the {len(description['classes'])} classes in `{ABOUT}`, in that order.")
    use = _USES.get(description["format"])
    lines = [
        f"# {description['file']}: a classifier by {description['recipe']}",
        "",
        *(f"* {step}" for step in steps),
        "",
    ]
    if use is not None:
        lines += ["```python", *use, "```", ""]
    if description["checked"] is not None:
        checked = description["checked"]
        difference = f"{checked['largest_difference']:.1e}"
        lines.append(f"Checked on {checked['rows']} rows: probabilities differ by at most {difference}.")
    lines.append(f"Written by eigenclean {description['eigenclean']}.")
    return "\n".join(lines) + "\n"


_WEIGHTS = "The file has weights only, and mean and scale of the inputs; the network is that of the run."
_ARRAYS = "The file has the arrays of the heads, by name; how they are used is in `model.json` of the run."
_USES = {
    "onnx": (
        "import onnxruntime",
        'session = onnxruntime.InferenceSession("model.onnx")',
        'probabilities = session.run(["probabilities"], {session.get_inputs()[0].name: rows})[0]',
    ),
    "torchscript": ("import torch", 'probabilities = torch.jit.load("model.pt")(torch.from_numpy(rows))'),
}


def _checked_inputs(model: RobustClassifier, rows: str | None, reading: SourceOptions | None) -> Array:
    if rows is not None:
        array = run_inputs(model, rows, reading or SourceOptions(), EmbeddingOptions())[1]
        images = not hasattr(model, "model_") and model.inputs_.are_images
        if not images:
            return np.asarray(array[:_MAX_CHECKED], dtype=np.float32)
        checked = model.inputs_.check(array, by="eigenclean export")[:_MAX_CHECKED]
        return np.asarray(checked / (255.0 if checked.dtype == np.uint8 else 1.0), dtype=np.float32)
    rng = np.random.default_rng(0)
    if hasattr(model, "model_"):
        return np.abs(rng.normal(size=(_N_DRAWN, model.n_features_in_))).astype(np.float32)
    spec = model.inputs_
    if spec.are_images:
        return rng.random((_N_DRAWN, *spec.shape), dtype=np.float32)  # type: ignore[misc]
    sample = rng.normal(size=(_N_DRAWN, int(spec.shape)))  # type: ignore[arg-type]
    return np.asarray(sample * spec.scaling.scale + spec.scaling.mean, dtype=np.float32)


def _difference(model: RobustClassifier, inputs: Array, result: Array) -> float:
    """The largest difference to the run; `InvalidData` if it is too large to be rounding."""
    expected = model.predict_proba(inputs)
    difference = float(np.abs(expected - result).max())
    if not difference <= MAX_DIFFERENCE:
        raise InvalidData(
            f"eigenclean export: the file predicts other probabilities than the run, by up to {difference:.1e}, so "
            "it was not written; use `eigenclean predict`, and report this"
        )
    return difference
