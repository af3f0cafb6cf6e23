"""Imports on demand: optional libraries with a helpful sentence when missing, and lazily exported names."""

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from eigenclean.errors import MissingExtra


def require(module: str, *, extra: str | None, caller: str) -> ModuleType:
    """Return the imported ``module``, or raise `MissingExtra` with the command that installs it.

    ``extra`` is the extra of eigenclean that brings it; None for a library that users install themselves.

    >>> require("json", extra="train", caller="doctest").__name__
    'json'
    >>> require("no_such_library", extra="train", caller="eigenclean train")
    Traceback (most recent call last):
        ...
    eigenclean.errors.MissingExtra: eigenclean train needs no_such_library, which is not installed:
    pip install 'eigenclean[train]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # the library is there, but something that it imports is not: say what
        package = module if extra is None else f"'eigenclean[{extra}]'"
        raise MissingExtra(f"{caller} needs {module}, which is not installed: pip install {package}") from None


def lazy_names(module: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for ``module`` that imports each of these names from its home on first use.

    A package that exports names this way costs nothing to import until one of them is used.

    >>> lazy_names("eigenclean.example", {"sqrt": "math"})("sqrt")(9)
    3.0
    """

    def __getattr__(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        if module in sys.modules:
            setattr(sys.modules[module], name, value)  # found without this function from now on
        return value

    return __getattr__
