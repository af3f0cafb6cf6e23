"""The state of a run in one file: tensors as safetensors, the rest as JSON in its header; no pickle.

The file is replaced by an atomic rename: whenever a run is killed, the last complete state is there.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from eigenclean.errors import EigencleanError, InvalidData, InvalidOption
from eigenclean.files import parse_json, replacing
from eigenclean.train.engine import Engine
from eigenclean.train.recipe import Recipe
from eigenclean.train.storage.engine_state import capture, restore

_FORMAT = 1
_KEY = "eigenclean"


def save_checkpoint(engine: Engine, path: str | os.PathLike[str], identity: Mapping[str, Any]) -> None:
    """Write the state after the last epoch; ``identity`` must be the same for a run that resumes from it."""
    tensors, record = capture(engine)
    header = json.dumps({"format": _FORMAT, "identity": identity, "state": record}, allow_nan=False)
    data = save(tensors, metadata={_KEY: header})
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def load_checkpoint(engine: Engine, path: str | os.PathLike[str], identity: Mapping[str, Any]) -> None:
    """Restore the state that `save_checkpoint` wrote; `InvalidOption` if it belongs to another run."""
    tensors, header = _read(Path(path))
    changes = differences(_current_fields(header.get("identity")), json.loads(json.dumps(identity)))
    if changes:
        listed = "; ".join(changes[:3]) + ("; and more" if len(changes) > 3 else "")
        raise InvalidOption(f"cannot resume from {path}: {listed}; start a new run in another folder")
    try:
        restore(engine, tensors, header["state"])
    except (KeyError, TypeError, IndexError, RuntimeError, ValueError, AttributeError) as error:
        raise InvalidData(f"{path} is not a checkpoint of this training: {error!r}") from None


def _current_fields(identity: Any) -> Any:
    """The identity with the recipe in the fields of this version; those of earlier versions had other names."""
    if not isinstance(identity, dict) or not isinstance(identity.get("recipe"), dict):
        return identity
    try:
        recipe = Recipe.from_dict(identity["recipe"])
    except EigencleanError:  # another version's recipe: the differences will say so
        return identity
    return {**identity, "recipe": json.loads(json.dumps(recipe.to_dict()))}


def differences(before: Any, now: Any, where: str = "") -> list[str]:
    """The differences between two JSON values, each as a sentence.

    >>> differences({"seed": 0, "recipe": {"lr": 0.1}}, {"seed": 1, "recipe": {"lr": 0.1}})
    ['seed was 0 and is 1']
    """
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [*before, *(key for key in now if key not in before)]
        return [
            change
            for key in keys
            for change in differences(before.get(key), now.get(key), f"{where} {key}".lstrip())
        ]
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [
            change
            for number, pair in enumerate(zip(before, now, strict=True), start=1)
            for change in differences(*pair, f"{where} {number}".lstrip())
        ]
    return [] if before == now else [f"{where} was {_shortened(before)} and is {_shortened(now)}"]


def _shortened(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, "pt") as file:
            header = parse_json((file.metadata() or {})[_KEY])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise InvalidData(f"cannot read the checkpoint {path}: {error.strerror or error}") from None
    except (SafetensorError, KeyError, ValueError):
        raise InvalidData(f"{path} is not a checkpoint of eigenclean, or it is damaged; start a new run") from None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise InvalidData(f"{path} is not a checkpoint of format {_FORMAT}; start a new run")
    return tensors, header
