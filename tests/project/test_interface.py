"""The public modules exist, export what they say, and document it."""

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from eigenclean.interface import PUBLIC_MODULES, public_names

ROOT = Path(__file__).parents[2]


def members(module_name: str) -> dict[str, Any]:
    """The public functions and classes of a module."""
    try:
        module = import_module(module_name)
        values = {name: getattr(module, name) for name in public_names(module_name)}
    except ModuleNotFoundError as error:  # an extra is not installed, as in the run with the lowest versions
        if error.name is None or error.name.split(".")[0] in ("eigenclean", "eigenclean_lab"):
            raise
        pytest.skip(str(error))
    return {name: value for name, value in values.items() if inspect.isclass(value) or inspect.isfunction(value)}


def test_no_module_is_listed_twice() -> None:
    assert len(set(PUBLIC_MODULES)) == len(PUBLIC_MODULES)


@pytest.mark.parametrize("module_name", PUBLIC_MODULES)
def test_every_public_name_exists_once_and_is_documented(module_name: str) -> None:
    documented = members(module_name)
    assert import_module(module_name).__doc__
    names = public_names(module_name)
    assert len(set(names)) == len(names)
    assert all(not name.startswith("_") or name == "__version__" for name in names)
    for name, value in documented.items():
        assert inspect.getdoc(value), f"{module_name}.{name} has no documentation"


def has_example(value: Any) -> bool:
    """Whether the documentation of a function, or of a class or one of its methods, shows an example."""
    methods = vars(value).values() if inspect.isclass(value) else ()
    return any(">>>" in (inspect.getdoc(member) or "") for member in (value, *methods))


def test_the_names_of_the_package_show_an_example() -> None:
    assert [name for name, value in members("eigenclean").items() if not has_example(value)] == []


@pytest.mark.parametrize("module", ["detect", "detect.cuts", "noise", "metrics", "patch", "scale.stream"])
def test_functions_that_work_on_arrays_show_an_example(module: str) -> None:
    functions = {
        name: value for name, value in members(f"eigenclean.{module}").items() if inspect.isfunction(value)
    }
    assert [name for name, value in functions.items() if not has_example(value)] == []


def imports_of(path: Path) -> list[str]:
    """The modules of eigenclean from which a file imports."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    modules = [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    return [module for module in modules if module and module.split(".")[0] == "eigenclean"]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_use_public_modules_only(path: Path) -> None:
    assert set(imports_of(path)) <= set(PUBLIC_MODULES)
