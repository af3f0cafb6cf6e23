"""Files that lie inside installed packages; their code is not run."""

from importlib.util import find_spec
from pathlib import Path

from eigenclean.errors import MissingExtra


def is_installed(module: str) -> bool:
    """Whether a library is there, without importing it.

    >>> is_installed("json"), is_installed("no_such_library")
    (True, False)
    """
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def package_folder(module: str, *, caller: str, package: str | None = None) -> Path:
    """The folder of an installed package, or `MissingExtra` with the command that installs it."""
    spec = find_spec(module) if is_installed(module) else None
    if spec is None or not spec.submodule_search_locations:
        name = package or module.replace("_", "-")
        raise MissingExtra(f"{caller} needs {name}, which is not installed: pip install {name}")
    return Path(next(iter(spec.submodule_search_locations)))
