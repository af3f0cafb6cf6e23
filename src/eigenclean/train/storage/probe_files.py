"""The classifier of the probe in a folder: arrays in ``model.npz``, the rest as JSON, the verdict as Parquet.

The folder may come from somebody else: arrays are read without pickle, and none is larger than the file.
"""

import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenclean.arrays import Array, array_from_record
from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.files import json_text, write_json
from eigenclean.publication import read_together
from eigenclean.train.probe.model import ProbeModel
from eigenclean.train.probe.none_head import NoneHead
from eigenclean.train.probe.recipe import Probe
from eigenclean.train.storage.record import FORMAT, PROBE_KIND, RECORD, digest, read_record
from eigenclean.verdict import FILE, Verdict, write_verdict

if TYPE_CHECKING:
    from eigenclean.train.estimator import RobustClassifier

ARRAYS = "model.npz"
_NONE = "none."  # arrays about samples of no class
_MAX_COLUMNS = 10_000_000  # a record may ask for no more memory than that


def probe_model(model: "RobustClassifier") -> ProbeModel:
    """The heads of a fitted classifier; `InvalidOption` for an estimator that only pickle could save."""
    if not isinstance(model.model_, ProbeModel):
        raise InvalidOption(
            f"RobustClassifier: {type(model.estimator).__name__} can only be saved with pickle, which is not done "
            "here; save model.model_.estimator with a tool of your choice (such as skops), or leave estimator out"
        )
    return model.model_


def write_probe(model: "RobustClassifier", folder: Path, run: Mapping[str, Any]) -> None:
    """Write a fitted classifier into an empty folder; its record has a hash of the arrays, which must match."""
    record, arrays = probe_model(model).to_arrays()
    if model.none_head_ is not None:
        record["none"], none_arrays = model.none_head_.to_arrays()
        arrays |= {f"{_NONE}{name}": values for name, values in none_arrays.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **{name: np.ascontiguousarray(array) for name, array in arrays.items()})  # type: ignore[arg-type]
    data = buffer.getvalue()
    assert isinstance(model.recipe_, Probe)
    write_verdict(model.verdict_, folder, json_text(model.verdict_.summary(**run)))
    (folder / ARRAYS).write_bytes(data)
    names = getattr(model, "feature_names_in_", None)
    write_json(
        folder / RECORD,
        {
            "format": FORMAT,
            "kind": PROBE_KIND,
            "recipe": model.recipe_.to_dict(),
            "random_state": model.random_state,
            "model": record,
            "columns": None if names is None else names.tolist(),
            "classes": model.classes_.tolist(),
            "classes_type": model.classes_.dtype.str,
            "history": model.history_,
            "weights": digest(data),
        },
    )


def load_probe(folder: str | os.PathLike[str]) -> "RobustClassifier":
    """Read a classifier that `write_probe` wrote."""
    record, arrays, verdict = read_together(folder, [RECORD, ARRAYS, FILE], lambda: _read_files(Path(folder)))
    try:
        return _restored(record, arrays, verdict)
    except EigencleanError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, AssertionError) as error:
        raise InvalidData(f"{Path(folder) / RECORD} is not a saved classifier: {error!r}") from None


def _restored(record: Mapping[str, Any], arrays: Mapping[str, Array], verdict: Verdict) -> "RobustClassifier":
    from eigenclean.train.estimator import RobustClassifier

    recipe = Probe.from_dict(record["recipe"])
    model = RobustClassifier(recipe, random_state=record["random_state"])
    model.recipe_, model.verdict_ = recipe, verdict
    model.classes_ = array_from_record(record["classes"], record["classes_type"])
    if not 0 < int(record["model"]["n_columns"]) <= _MAX_COLUMNS:
        raise ValueError("it has no columns, or too many")
    model.model_ = ProbeModel.from_arrays(record["model"], arrays, len(model.classes_))
    model.n_features_in_ = model.model_.n_columns
    none = record["model"].get("none")
    values = {name.removeprefix(_NONE): array for name, array in arrays.items() if name.startswith(_NONE)}
    model.none_head_ = (
        None if none is None else NoneHead.from_arrays(none, values, len(model.classes_), model.n_features_in_)
    )
    if record["columns"] is not None:
        model.feature_names_in_ = np.array([str(name) for name in record["columns"]], dtype=object)
    model.history_, model.best_epoch_ = list(record["history"]), 1
    return model


def _read_files(folder: Path) -> tuple[dict[str, Any], dict[str, Array], Verdict]:
    record = read_record(folder)
    try:
        data = (folder / ARRAYS).read_bytes()
    except OSError as error:
        raise InvalidData(f"no saved classifier at {folder}: cannot read {ARRAYS}, {error.strerror}") from None
    if digest(data) != record.get("weights"):
        raise InvalidData(f"{folder / ARRAYS} does not belong to {RECORD}: it was changed or cut short")
    try:
        return record, _arrays(data), Verdict.load(folder)
    except (ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        if isinstance(error, EigencleanError):
            raise
        raise InvalidData(f"{folder / ARRAYS} is not an archive of arrays: {error}") from None


def _arrays(data: bytes) -> dict[str, Array]:
    """The arrays of an archive that is not compressed, so that none is larger than the file."""
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED or member.file_size > len(data):
                raise ValueError(f"{member.filename} is compressed")
            content = archive.read(member)
            arrays[member.filename.removesuffix(".npy")] = _array(content, member.filename)
    return arrays


def _array(content: bytes, name: str) -> Array:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError(f"{name} has a header that is not written here")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.kind not in "iuf" or dtype.itemsize * int(np.prod(shape, dtype=object)) > len(content):
        raise ValueError(f"{name} is no array of numbers, or cut short")
    stream.seek(0)
    return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
