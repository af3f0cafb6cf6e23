"""A torch module that a function of the user's own makes, with weights from a file."""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pickle import UnpicklingError
from types import ModuleType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from eigenclean.errors import InvalidData, InvalidOption
from eigenclean.features.encoders.torch_module import TorchEncoder


class TorchFunctionEncoder(TorchEncoder):
    """A module from the user's own code as an encoder of images; the code is executed.

    Args:
        argument: "nets.py:make_net" or "package.module:make_net"; the function takes nothing, returns the module.
        weights: file of a state dict, ``.safetensors`` or what ``torch.save`` wrote; nothing but tensors is loaded.
        name: the name that it was chosen by.
        options: see `TorchEncoder`.
    """

    options = (*TorchEncoder.options, "weights")

    def __init__(
        self, argument: str, *, weights: str | None = None, name: str | None = None, **options: Any
    ) -> None:
        name = name or f"torch:{argument}"
        module = _call_function(argument, name)
        if weights is not None:
            _load(module, Path(weights), name)
        super().__init__(module, name=name, **options)


def _call_function(argument: str, name: str) -> nn.Module:
    location, _, function = argument.rpartition(":")
    if not location or not function.isidentifier():
        raise InvalidOption(
            f"encoder {name} must look like torch:nets.py:make_net or torch:package.module:make_net"
        )
    make = getattr(_import(location, name), function, None)
    if not callable(make):
        raise InvalidOption(f"encoder {name}: {location} has no function {function}")
    module = make()
    if not isinstance(module, nn.Module):
        raise InvalidOption(
            f"encoder {name}: {function} must return a torch.nn.Module, got {type(module).__name__}"
        )
    return module


def _import(location: str, name: str) -> ModuleType:
    if not location.endswith(".py"):
        try:
            return import_module(location)
        except ImportError as error:
            raise InvalidOption(f"encoder {name}: {error}; give a file that ends in .py, or install it") from None
    path = Path(location)
    spec = spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise InvalidData(f"there is no file {path}; check the path of the encoder")
    module = module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


def _load(module: nn.Module, path: Path, name: str) -> None:
    if not path.is_file():
        raise InvalidData(f"there is no file {path}; check the weights of the encoder")
    try:
        if path.suffix == ".safetensors":
            tensors = load_file(path)
        else:
            tensors = torch.load(path, map_location="cpu", weights_only=True)
        module.load_state_dict(tensors)
    except (SafetensorError, UnpicklingError, RuntimeError, TypeError, AttributeError, EOFError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:160].rstrip(".:")
        raise InvalidData(f"encoder {name}: {path} is no state dict of this module: {reason}") from None
