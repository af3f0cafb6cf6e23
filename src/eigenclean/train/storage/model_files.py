"""A trained classifier in a folder: tensors as safetensors, the rest as JSON, the verdict as Parquet; no pickle.

The folder may come from somebody else. Its record chooses among the networks of `NETS`, never a file or a download,
and decides nothing about memory that the tensors do not confirm.
"""

import copy
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from eigenclean.arrays import array_from_record
from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.features.choose import bundled_encoder
from eigenclean.features.registry import DEFAULT_IMAGE_NET
from eigenclean.files import json_text, write_json
from eigenclean.names import check_name
from eigenclean.nets import NETS
from eigenclean.publication import read_together
from eigenclean.train.augment import augmentation_by_name
from eigenclean.train.data.inputs import InputSpec
from eigenclean.train.data.scaling import Scaling
from eigenclean.train.estimator import RobustClassifier
from eigenclean.train.recipe import Recipe
from eigenclean.train.storage.record import FORMAT, RECORD, digest, read_record
from eigenclean.verdict import FILE, Verdict, write_verdict

WEIGHTS = "model.safetensors"
_PLAIN_MODEL = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)?")  # of timm; "hf-hub:NAME" and "local-dir:PATH" are not


def write_model(model: RobustClassifier, folder: Path, run: Mapping[str, Any]) -> None:
    """Write a fitted classifier into an empty folder; its record has a hash of the weights, which must match."""
    data = save(_tensors(model))
    write_verdict(model.verdict_, folder, json_text(model.verdict_.summary(**run)))
    (folder / WEIGHTS).write_bytes(data)
    write_json(folder / RECORD, {**_record(model), "weights": digest(data)})


def load_model(folder: str | os.PathLike[str], net: Callable[[Any, int], nn.Module] | None) -> RobustClassifier:
    """Read a classifier that `write_model` wrote."""
    record, tensors, verdict = read_together(
        folder, [RECORD, WEIGHTS, FILE], lambda: _read_files(Path(folder), net)
    )
    try:
        return _restored(record, tensors, verdict, net)
    except EigencleanError:
        raise
    except (KeyError, TypeError, RuntimeError, ValueError, AttributeError, IndexError) as error:
        raise InvalidData(f"{Path(folder) / RECORD} is not a saved classifier: {error!r}") from None


def _read_files(folder: Path, net: Any) -> tuple[dict[str, Any], dict[str, Tensor], Verdict]:
    record = read_record(folder)
    tensors = _read_tensors(folder, record)
    if record.get("net") is None and net is None:
        raise InvalidOption(f"{folder / RECORD} has a network of your own: give the function that makes it")
    return record, tensors, Verdict.load(folder)


def _tensors(model: RobustClassifier) -> dict[str, Tensor]:
    scaling = model.inputs_.scaling
    tensors = {"scaling.mean": torch.from_numpy(scaling.mean), "scaling.scale": torch.from_numpy(scaling.scale)}
    for prefix, networks in _saved_networks(model).items():
        for number, net in enumerate(networks):
            tensors |= {
                f"{prefix}.{number}.{name}": value.cpu().contiguous() for name, value in net.state_dict().items()
            }
    return tensors


def _saved_networks(model: RobustClassifier) -> dict[str, list[nn.Module]]:
    """The networks to save: the best, and the last unless they are the same."""
    same = model.best_epoch_ == len(model.history_)
    return {"best": model.networks_} if same else {"best": model.networks_, "last": model.last_networks_}


def _record(model: RobustClassifier) -> dict[str, Any]:
    assert isinstance(model.recipe_, Recipe)
    net = model.recipe_.net if model.net is None else model.net
    return {
        "format": FORMAT,
        "recipe": model.recipe_.to_dict(),
        "net": net if isinstance(net, str) else None,
        "net_options": dict(model.net_options or {}),
        "random_state": model.random_state,
        "mixed_precision": model.mixed_precision,
        "shape": model.inputs_.shape,
        "n_networks": len(model.networks_),
        "best_epoch": model.best_epoch_,
        "classes": model.classes_.tolist(),
        "classes_type": model.classes_.dtype.str,
        "history": model.history_,
    }


def _restored(
    record: Mapping[str, Any], tensors: Mapping[str, Tensor], verdict: Verdict, net: Any
) -> RobustClassifier:
    model = RobustClassifier(
        Recipe.from_dict(record["recipe"]),
        net=net or record["net"],
        net_options=record["net_options"],
        random_state=record["random_state"],
        mixed_precision=record["mixed_precision"],
    )
    model.recipe_ = Recipe.from_dict(record["recipe"])
    model.classes_ = array_from_record(record["classes"], record["classes_type"])
    shape, scaling = record["shape"], Scaling(tensors["scaling.mean"].numpy(), tensors["scaling.scale"].numpy())
    augment = augmentation_by_name(model.recipe_.augment, images=not isinstance(shape, int))
    model.inputs_ = InputSpec(shape if isinstance(shape, int) else tuple(shape), scaling, augment)
    if isinstance(shape, int):
        model.n_features_in_ = shape
    model.history_, model.best_epoch_, model.verdict_ = record["history"], record["best_epoch"], verdict
    model.networks_ = _networks(model, "best", tensors)
    last = any(name.startswith("last.") for name in tensors)
    model.last_networks_ = _networks(model, "last", tensors) if last else model.networks_
    return model


def _networks(model: RobustClassifier, which: str, tensors: Mapping[str, Tensor]) -> list[nn.Module]:
    """The networks whose tensors are called ``which.0``, ``which.1``, …"""
    numbers = {name.split(".")[1] for name in tensors if name.startswith(f"{which}.")}
    networks = []
    for number in map(str, range(len(numbers))):
        prefix = f"{which}.{number}."
        weights = {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}
        net = _fresh_network(model, weights)
        net.load_state_dict(weights)
        networks.append(net)
    return networks


def _fresh_network(model: RobustClassifier, weights: Mapping[str, Tensor]) -> nn.Module:
    """A network of the model with any weights, in which ``weights`` fit."""
    builder = copy.copy(model)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):  # building a network draws weights
        if callable(model.net):
            return builder._make_net()
        builder.net_options = _local_options(model.net, model.net_options or {})
        with torch.device("meta"):  # without memory: a small file could ask for a network of any size
            expected = builder._make_net().state_dict()
        if {name: value.shape for name, value in expected.items()} != {k: v.shape for k, v in weights.items()}:
            raise ValueError("its weights are not those of its network")
        return builder._make_net()


def _local_options(net: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without those that make timm download something, or read the weights of an encoder."""
    check_name(net, NETS, by=RECORD, what="net")
    model = options.get("model")
    if model is not None and not _PLAIN_MODEL.fullmatch(str(model)):
        raise InvalidOption(
            f"{RECORD} names the model {model!r}, which timm would fetch from elsewhere; if you trust it, give the "
            "function that makes the network: RobustClassifier.load(folder, net=...)"
        )
    if net == "encoder":
        _check_bundled(str(options.get("encoder", DEFAULT_IMAGE_NET)))
        return {**options, "pretrained": False}  # the weights are in the file
    return {name: value for name, value in options.items() if name != "pretrained"}


def _check_bundled(encoder: str) -> None:
    try:
        bundled_encoder(encoder, by=RECORD)
    except InvalidOption:
        raise InvalidOption(
            f"{RECORD} names the encoder {encoder!r}, which is not a bundled one and is not run because a file "
            "says so; if you trust it, give the function that makes the network: "
            "RobustClassifier.load(folder, net=...)"
        ) from None


def _read_tensors(folder: Path, record: Mapping[str, Any]) -> dict[str, Tensor]:
    try:
        data = (folder / WEIGHTS).read_bytes()
        if digest(data) != record.get("weights"):
            raise InvalidData(f"{folder / WEIGHTS} does not belong to {RECORD}: it was changed or cut short")
        return load(data)
    except OSError as error:
        raise InvalidData(f"no saved classifier at {folder}: cannot read {WEIGHTS}, {error.strerror}") from None
    except SafetensorError as error:
        raise InvalidData(f"{folder / WEIGHTS} is not a safetensors file: {error}") from None
