"""What the shell completes: the names in the tables of the library, which are imported when they are asked for."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

Complete = Callable[[str], list[str]]

KINDS = {  # the table of each kind; its module is imported when it is listed
    "detectors": ("eigenclean.detect", "DETECTORS"),
    "cuts": ("eigenclean.detect.cuts", "CUTS"),
    "noises": ("eigenclean.noise", "NOISES"),
    "recipes": ("eigenclean.train", "recipe_names"),
    "presets": ("eigenclean.train.presets", "PRESETS"),
    "nets": ("eigenclean.nets", "NETS"),
    "losses": ("eigenclean.losses", "LOSSES"),
    "augments": ("eigenclean.train.augment", "AUGMENTS"),
    "encoders": ("eigenclean.workflows.embedding", "encoder_names"),
    "datasets": ("eigenclean.sources.layouts.bundled", "DATASETS"),
    "layouts": ("eigenclean.sources.layouts.registry", "LAYOUTS"),
    "exports": ("eigenclean.workflows.export", "NAMES"),
}


def table_of(kind: str) -> Any:
    """The table of a kind: a mapping by name, or a function that returns the names."""
    module, name = KINDS[kind]
    return getattr(import_module(module), name)


def complete(names: Iterable[str]) -> Complete:
    """A function that completes what was typed to one of the names."""

    def completed(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return completed


def names_of(kind: str) -> Complete:
    """A function that completes what was typed to a name of that kind, such as "detectors".

    >>> names_of("datasets")("d")
    ['digits']
    """

    def completed(incomplete: str) -> list[str]:
        entries = table_of(kind)
        return complete(entries() if callable(entries) else entries)(incomplete)

    return completed
