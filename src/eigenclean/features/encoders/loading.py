"""Loading weights and models: packages that may be missing, and libraries that fail in many ways."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from eigenclean.errors import InvalidData, MissingExtra

_FAILURES = (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError)


def is_installed(module: str) -> bool:
    """Whether a library can be imported, without importing it.

    >>> is_installed("json"), is_installed("no_such_library")
    (True, False)
    """
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def package_folder(module: str, *, caller: str, package: str | None = None) -> Path:
    """The folder of an installed package, whose code is not run; `MissingExtra` says how to install it."""
    spec = find_spec(module) if is_installed(module) else None
    if spec is None or not spec.submodule_search_locations:
        name = package or module.replace("_", "-")
        raise MissingExtra(f"{caller} needs {name}, which is not installed: pip install {name}")
    return Path(next(iter(spec.submodule_search_locations)))


@contextmanager
def explain_load_errors(name: str) -> Iterator[None]:
    """Turn what goes wrong when a model is loaded into `InvalidData` about the encoder ``name``.

    Progress bars of transformers are off inside the block: the command line has its own.
    """
    bars = import_module("transformers.utils.logging") if is_installed("transformers") else None
    bars_enabled = bars is not None and bars.is_progress_bar_enabled()
    if bars is not None:
        bars.disable_progress_bar()
    try:
        yield
    except _FAILURES as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise InvalidData(
            f"encoder {name} cannot be loaded: {lines[0][:200].rstrip('.')}; check the name, or the folder, or "
            "the connection to the hub"
        ) from None
    finally:
        if bars is not None and bars_enabled:
            bars.enable_progress_bar()
