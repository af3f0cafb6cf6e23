"""The public modules exist, export what they say, and document it."""

import inspect
from importlib import import_module
from typing import Any

import pytest

from eigenclean.errors import MissingExtra
from eigenclean.interface import PUBLIC_MODULES, public_names


def members(module_name: str) -> dict[str, Any]:
    """The public functions and classes of a module."""
    module = import_module(module_name)
    try:
        values = {name: getattr(module, name) for name in public_names(module_name)}
    except MissingExtra as error:
        pytest.skip(str(error))
    return {name: value for name, value in values.items() if inspect.isclass(value) or inspect.isfunction(value)}


def test_no_module_is_listed_twice() -> None:
    assert len(set(PUBLIC_MODULES)) == len(PUBLIC_MODULES)


@pytest.mark.parametrize("module_name", PUBLIC_MODULES)
def test_every_public_name_exists_once_and_is_documented(module_name: str) -> None:
    assert import_module(module_name).__doc__
    names = public_names(module_name)
    assert len(set(names)) == len(names)
    assert all(not name.startswith("_") or name == "__version__" for name in names)
    for name, value in members(module_name).items():
        assert inspect.getdoc(value), f"{module_name}.{name} has no documentation"
