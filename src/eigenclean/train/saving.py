"""A trained classifier in a folder: tensors as safetensors, the rest as JSON, the verdict as Parquet; no pickle."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from eigenclean.errors import InvalidData
from eigenclean.files import make_folder, replacing, write_json
from eigenclean.nets import make_net
from eigenclean.train.estimator import RobustClassifier
from eigenclean.train.recipe import Recipe
from eigenclean.train.scaling import Scaling
from eigenclean.verdict import Verdict

WEIGHTS = "model.safetensors"
RECORD = "model.json"
_FORMAT = 1


def save_model(model: RobustClassifier, folder: str | os.PathLike[str], run: Mapping[str, Any]) -> None:
    """Write a fitted classifier; the record comes last and names its weights, so a mixture of two is noticed."""
    target = make_folder(folder)
    data = save(_tensors(model))
    model.verdict_.save(target, **run)
    with replacing(target / WEIGHTS) as temporary:
        temporary.write_bytes(data)
    write_json(target / RECORD, {**_record(model), "weights": _digest(data)})


def load_model(folder: str | os.PathLike[str]) -> RobustClassifier:
    """Read a classifier that `save_model` wrote."""
    record = _read_record(Path(folder))
    tensors = _read_tensors(Path(folder), record)
    try:
        return _restored(record, tensors, Verdict.load(folder))
    except (KeyError, TypeError, RuntimeError) as error:
        raise InvalidData(f"{Path(folder) / RECORD} is not a saved classifier: {error!r}") from None


def _tensors(model: RobustClassifier) -> dict[str, Tensor]:
    tensors = {
        "scaling.mean": torch.from_numpy(model.scaling_.mean),
        "scaling.scale": torch.from_numpy(model.scaling_.scale),
    }
    for number, net in enumerate(model.networks_):
        tensors |= {f"{number}.{name}": value.cpu().contiguous() for name, value in net.state_dict().items()}
    return tensors


def _record(model: RobustClassifier) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "recipe": model.recipe_.to_dict(),
        "net": model.net,
        "net_options": dict(model.net_options or {}),
        "random_state": model.random_state,
        "mixed_precision": model.mixed_precision,
        "n_features": model.n_features_in_,
        "n_networks": len(model.networks_),
        "classes": model.classes_.tolist(),
        "classes_type": model.classes_.dtype.str,
        "history": model.history_,
    }


def _restored(record: Mapping[str, Any], tensors: Mapping[str, Tensor], verdict: Verdict) -> RobustClassifier:
    model = RobustClassifier(
        Recipe.from_dict(record["recipe"]),
        net=record["net"],
        net_options=record["net_options"],
        random_state=record["random_state"],
        mixed_precision=record["mixed_precision"],
    )
    model.recipe_ = Recipe.from_dict(record["recipe"])
    model.classes_ = np.array(record["classes"], dtype=record["classes_type"])
    model.n_features_in_ = record["n_features"]
    model.scaling_ = Scaling(tensors["scaling.mean"].numpy(), tensors["scaling.scale"].numpy())
    model.history_ = record["history"]
    model.verdict_ = verdict
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):  # building a network draws weights
        model.networks_ = [
            make_net(model.net, model.n_features_in_, len(model.classes_), **record["net_options"])
            for _ in range(record["n_networks"])
        ]
    for number, net in enumerate(model.networks_):
        start = f"{number}."
        net.load_state_dict(
            {name[len(start) :]: value for name, value in tensors.items() if name.startswith(start)}
        )
    return model


def _read_record(folder: Path) -> dict[str, Any]:
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidData(f"no saved classifier at {folder}: cannot read {RECORD}, {error.strerror}") from None
    except ValueError as error:
        raise InvalidData(f"{folder / RECORD} is not readable JSON: {error}") from None
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise InvalidData(f"{folder / RECORD} is not a saved classifier of format {_FORMAT}")
    return record


def _read_tensors(folder: Path, record: Mapping[str, Any]) -> dict[str, Tensor]:
    try:
        data = (folder / WEIGHTS).read_bytes()
        if _digest(data) != record.get("weights"):
            raise InvalidData(f"{folder / WEIGHTS} does not belong to {RECORD}: it was changed or cut short")
        return load(data)
    except OSError as error:
        raise InvalidData(f"no saved classifier at {folder}: cannot read {WEIGHTS}, {error.strerror}") from None
    except SafetensorError as error:
        raise InvalidData(f"{folder / WEIGHTS} is not a safetensors file: {error}") from None


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
