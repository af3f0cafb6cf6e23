"""Optional libraries: imported where they are needed, with a helpful sentence when they are missing."""

import importlib
from types import ModuleType

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
