"""The laboratory uses the public interface of the library only, which shows that the interface is sufficient."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import eigenclean_lab
from eigenclean.interface import PUBLIC_MODULES

ROOT = Path(str(eigenclean_lab.__file__)).parent
FILES = sorted(ROOT.rglob("*.py"))


def imported_names(file: Path) -> list[tuple[str, str]]:
    """Modules of the library and the names imported from them."""
    names = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "eigenclean":
            names += [(str(node.module), alias.name) for alias in node.names]
    return names


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_only_exported_names_of_the_library_are_imported(file: Path) -> None:
    for module, name in imported_names(file):
        if f"{module}.{name}" not in PUBLIC_MODULES:
            assert module in PUBLIC_MODULES, f"{module} is not public"
            # Without __all__ every name counts that has no leading underscore, also type aliases and instances.
            exported = getattr(import_module(module), "__all__", None)
            is_public = not name.startswith("_") if exported is None else name in exported
            assert is_public, f"{module} does not export {name}"
