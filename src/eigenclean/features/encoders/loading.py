"""Other libraries load their models here: without their progress bars, and with one sentence when they cannot."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from eigenclean.errors import InvalidData
from eigenclean.features.encoders.package import is_installed

_FAILURES = (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError)


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Inside the block a model is loaded; what goes wrong is `InvalidData` about the encoder ``name``."""
    bars = import_module("transformers.utils.logging") if is_installed("transformers") else None
    shown = bars is not None and bars.is_progress_bar_enabled()
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
        if bars is not None and shown:
            bars.enable_progress_bar()
