"""Save and load the moments of FINE: arrays as safetensors, the rest as JSON; nothing is pickled."""

import dataclasses
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenclean.arrays import Array, array_from_record
from eigenclean.detect.base import plain_parameters
from eigenclean.detect.cuts import CUTS, Cut
from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.extras import require
from eigenclean.files import json_text, make_folder, parse_json, replacing, write_text
from eigenclean.mixture import Mixtures
from eigenclean.moments import ClassMoments
from eigenclean.version import __version__

if TYPE_CHECKING:
    from eigenclean.detect.fine.fine import FINE

ARRAYS, RECORD = "moments.safetensors", "moments.json"


def save_fine(fine: "FINE", moments: ClassMoments | None, path: str | os.PathLike[str]) -> Path:
    """Write the arrays, then the record, which holds their hash."""
    if moments is None:
        raise InvalidOption(
            "FINE: save needs the class moments, which fit does not keep for large data; use partial_fit, or "
            "FINE(keep_moments=True)"
        )
    safetensors: Any = require("safetensors.numpy", extra="dask", caller="FINE.save")
    tensors: dict[str, Array] = {"counts": moments.counts, "sums": moments.sums, "seconds": moments.seconds}
    record: dict[str, Any] = {
        "format": 1,
        "version": __version__,
        "method": fine.name,
        "parameters": plain_parameters(fine),
        "classes": moments.classes.tolist(),
        "class_type": moments.classes.dtype.str,
    }
    if hasattr(fine, "cut_"):
        record["cut"] = _cut_state(fine.cut_, tensors)
    content = safetensors.save({name: np.ascontiguousarray(values) for name, values in tensors.items()})
    record["hash"] = hashlib.blake2b(content, digest_size=16).hexdigest()
    folder = make_folder(path)
    text = json_text(record)
    with replacing(folder / ARRAYS) as temporary:
        temporary.write_bytes(content)
    write_text(folder / RECORD, text)
    return folder


def load_fine(kind: "type[FINE]", path: str | os.PathLike[str]) -> "FINE":
    """Read the record and the arrays, and check the arrays against the hash in the record."""
    safetensors: Any = require("safetensors.numpy", extra="dask", caller="FINE.load")
    broken: Any = require("safetensors", extra="dask", caller="FINE.load").SafetensorError
    folder = Path(path)
    try:
        record = parse_json((folder / RECORD).read_text(encoding="utf-8"))
        content = (folder / ARRAYS).read_bytes()
        if record["format"] != 1 or hashlib.blake2b(content, digest_size=16).hexdigest() != record["hash"]:
            raise ValueError("its two files do not belong together")
        tensors = safetensors.load(content)
        classes = array_from_record(record["classes"], record["class_type"])
        moments = ClassMoments(classes, tensors["counts"], tensors["sums"], tensors["seconds"])
        _check_shapes(moments)
        method = record["method"]
        fine = kind(**_parameters(record["parameters"])) if method == kind.name else None
        cut = _restore_cut(record["cut"], tensors) if "cut" in record else None
    except OSError as error:
        raise InvalidData(
            f"there are no moments in {folder}: {error.strerror}; expected {ARRAYS} and {RECORD}, "
            "as FINE.save writes"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError, broken) as error:
        raise InvalidData(f"the moments in {folder} are damaged: {error}; save them again") from None
    if fine is None:
        raise InvalidData(f"the moments in {folder} are those of {method}, not of {kind.name}")
    fine._take(moments)
    if cut is not None:
        fine.cut_ = cut
    return fine


def _check_shapes(moments: ClassMoments) -> None:
    n_classes, width = len(moments.classes), moments.sums.shape[-1]
    shapes = moments.counts.shape, moments.sums.shape, moments.seconds.shape
    if shapes != ((n_classes,), (n_classes, width), (n_classes, width, width)):
        raise ValueError("its arrays do not fit each other")


def _parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _cut_option(value) if name == "cut" else value for name, value in parameters.items()}


def _cut_option(value: Any) -> str | Cut:
    """Return the ``cut`` option of the constructor: a name, or a cut with options."""
    if isinstance(value, str):
        return value
    options = {name: option for name, option in value.items() if name != "name"}
    return CUTS[value["name"]](**options)


def _cut_state(cut: Cut, tensors: dict[str, Array]) -> dict[str, Any]:
    """Return the fitted state of the cut as JSON values; its arrays are added to ``tensors``."""
    names = {kind: name for name, kind in CUTS.items()}
    if type(cut) not in names:
        raise InvalidOption(f"FINE: a cut of your own ({type(cut).__name__}) cannot be saved; use one by name")
    state: dict[str, Any] = {
        "name": names[type(cut)],
        "options": plain_parameters(cut),
        "plain": {},
        "mixtures": {},
    }
    for name, value in vars(cut).items():
        if name in state["options"]:
            continue
        if isinstance(value, np.ndarray):
            tensors[f"cut.{name}"] = value
        elif isinstance(value, Mixtures):
            state["mixtures"][name] = value.family
            for field in dataclasses.fields(value):
                if field.name != "family":
                    tensors[f"cut.{name}.{field.name}"] = getattr(value, field.name)
        else:
            state["plain"][name] = value
    return state


def _restore_cut(state: Mapping[str, Any], tensors: Mapping[str, Array]) -> Cut:
    """Return the fitted cut that `_cut_state` recorded."""
    cut = CUTS[state["name"]](**state["options"])
    vars(cut).update(state["plain"])
    mixtures: dict[str, dict[str, Array]] = {name: {} for name in state["mixtures"]}
    for name, values in tensors.items():
        attribute, _, field = name.removeprefix("cut.").partition(".")
        if name.startswith("cut.") and field:
            mixtures[attribute][field] = values
        elif name.startswith("cut."):
            setattr(cut, attribute, values)
    for name, fields in mixtures.items():
        setattr(cut, name, Mixtures(family=state["mixtures"][name], **fields))
    return cut
