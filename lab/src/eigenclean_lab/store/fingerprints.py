"""Fingerprints of the code behind a cell: a result belongs to the code that produced it."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import eigenclean
import eigenclean_lab
from eigenclean_lab.store.import_graph import ImportGraph

Entry = type | ModuleType | str | Any  # a class, function or module, or the name of a module


def code_key(*entries: Entry, without: Iterable[str] = ()) -> str:
    """Fingerprint of all code that these classes, functions and modules depend on.

    Comments and docstrings do not count. Which files count is read from their imports: see `import_graph`. Modules
    ``without`` do not count, nor what they alone import: they hold values that identify a cell in another way.

    >>> from eigenclean.metrics import score_verdict
    >>> len(code_key(score_verdict))
    16
    """
    return _fingerprint(frozenset(map(module_of, entries)), frozenset(without))


def module_of(entry: Entry) -> str:
    """Name of the module that defines a class or function.

    >>> module_of(ImportGraph)
    'eigenclean_lab.store.import_graph'
    """
    if isinstance(entry, str):
        return entry
    return entry.__name__ if isinstance(entry, ModuleType) else str(entry.__module__)


def registered(value: Any, *registries: Mapping[str, Any]) -> set[str]:
    """Modules of all registered classes that a plain value names, such as the losses in a recipe.

    Registries are not followed by the import graph, so a cell must say which entries it uses. They are found in
    the value that describes it: every text in it that is a name in one of the registries.

    >>> from eigenclean.losses import LOSSES
    >>> sorted(registered({"loss": {"name": "gce"}, "epochs": 3}, LOSSES))
    ['eigenclean.losses.gce']
    """
    modules = set()
    for text in names_in(value):
        for registry in registries:
            if text in registry:
                entry = registry[text]
                modules.add(entry[0] if isinstance(entry, tuple) else module_of(entry))
    return modules


def short_hash(text: str) -> str:
    """Sixteen digits that stand for a text.

    >>> len(short_hash("FINE"))
    16
    """
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def names_in(value: Any) -> Iterator[str]:
    """All texts in a plain value; a list of names with commas between counts as several.

    >>> list(names_in({"members": "fine, knn", "threshold": 0.5}))
    ['fine', 'knn']
    """
    if isinstance(value, str):
        yield from (name.strip() for name in value.split(","))
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from names_in(inner)
    elif isinstance(value, Iterable):
        for inner in value:
            yield from names_in(inner)


@cache
def graph() -> ImportGraph:
    """The import graph of the library and the laboratory."""
    packages = (eigenclean, eigenclean_lab)
    return ImportGraph({package.__name__: Path(str(package.__file__)).parent for package in packages})


@cache
def _fingerprint(modules: frozenset[str], without: frozenset[str]) -> str:
    return graph().fingerprint(modules, without)
