"""What a module depends on: the modules it imports, directly or through others, found without running anything.

Three rules make the graph follow what a measurement runs rather than what happens to be loaded with it:

* A name that is imported from a package leads to the module that defines it, not to all that the package's
  ``__init__`` re-exports.
* Imports inside functions count; imports for type checkers do not.
* A registry, a table from names to imported classes or functions, leads nowhere. Code that looks something up by
  name depends on the entry and not on the table, and a measurement names the entries itself (see `fingerprints`).
  So a new detector, one more line in a registry, leaves the dependencies of all others as they are.
"""

import ast
import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """``import module`` (``name`` is None) or ``from module import name``."""

    module: str
    name: str | None


@dataclass(frozen=True)
class ParsedModule:
    """One parsed module.

    Attributes:
        digest: hash of its code without docstrings, comments, re-exports and registries.
        bound: what each imported name of the module refers to, also those for type checkers.
        used: imports that its code uses.
        reexported: module-level imports that its code does not use and no registry lists.
    """

    digest: str
    bound: Mapping[str, Import]
    used: frozenset[Import]
    reexported: frozenset[Import]


class ImportGraph:
    """Modules of some packages and what they import from each other.

    Args:
        packages: folder of each top-level package by its name.
    """

    def __init__(self, packages: Mapping[str, Path]) -> None:
        self._files: dict[str, Path] = {}
        for package, folder in packages.items():
            for file in sorted(folder.rglob("*.py")):
                parts = [package, *file.relative_to(folder).with_suffix("").parts]
                self._files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
        self._sources: dict[str, ParsedModule] = {}

    def closure(self, modules: Iterable[str], without: Collection[str] = ()) -> set[str]:
        """The modules themselves and everything that their code depends on, but for modules ``without``."""
        reached: dict[str, bool] = {}  # whether all of the module is meant, its re-exports too
        pending = [(module, True) for module in modules]
        while pending:
            module, whole = pending.pop()
            if module in without:
                continue
            if reached.get(module, False) or (module in reached and not whole):
                continue
            source = self._source(module)
            imports = (frozenset() if module in reached else source.used) | (
                source.reexported if whole else frozenset()
            )
            reached[module] = whole
            pending += [target for target in map(self._resolve, imports) if target is not None]
        return set(reached)

    def fingerprint(self, modules: Iterable[str], without: Collection[str] = ()) -> str:
        """Sixteen digits that change when the code of a module in the closure changes."""
        parts = [f"{module} {self._source(module).digest}" for module in sorted(self.closure(modules, without))]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()

    def _resolve(self, imported: Import) -> tuple[str, bool] | None:
        """The module that an import leads to, and whether all of it is meant; None outside the packages."""
        if imported.name is None:
            return (imported.module, True) if imported.module in self._files else None
        inner = f"{imported.module}.{imported.name}"
        if inner in self._files:
            return inner, True
        if imported.module not in self._files:
            return None
        bound = self._source(imported.module).bound.get(imported.name)
        if bound is None:
            return imported.module, False
        return self._resolve(bound) or (imported.module, False)

    def _source(self, module: str) -> ParsedModule:
        if module not in self._sources:
            if module not in self._files:
                raise KeyError(f"no module {module} in the packages of this graph")
            self._sources[module] = parse(self._files[module].read_text(encoding="utf-8"), module)
        return self._sources[module]


@cache
def parse(text: str, module: str = "") -> ParsedModule:
    """Imports and code of a module.

    >>> parse("from a import b, c\\nTABLE = {'b': b}\\nx = c()").used
    frozenset({Import(module='a', name='c')})
    """
    tree = ast.parse(text)
    bound: dict[str, Import] = {}
    local: set[Import] = set()  # imports inside functions
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound.update(_bindings(node, module))
    checking = {id(node) for node in ast.walk(tree) if isinstance(node, ast.If) and _for_type_checkers(node)}
    statements = [
        node
        for node in tree.body
        if id(node) not in checking
        and not isinstance(node, ast.Import | ast.ImportFrom)
        and not _is_registry(node, bound)
        and not _assigns(node, "__all__")
    ]
    runtime: dict[str, Import] = {}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            runtime.update(_bindings(node, module))
    names: set[str] = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                local.update(imported for _, imported in _bindings(node, module))
            elif isinstance(node, ast.Name):
                names.add(node.id)
    listed = {
        node.id
        for statement in tree.body
        if _is_registry(statement, bound)
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }
    used = {imported for name, imported in runtime.items() if name in names} | local
    reexported = {imported for name, imported in runtime.items() if name not in names and name not in listed}
    for statement in statements:
        _drop_docstrings(statement)
    code = "\n".join(ast.dump(statement) for statement in statements if not _is_docstring(statement))
    digest = hashlib.blake2b(code.encode(), digest_size=16).hexdigest()
    return ParsedModule(digest, bound, frozenset(used), frozenset(reexported))


def _bindings(node: ast.Import | ast.ImportFrom, module: str) -> list[tuple[str, Import]]:
    if isinstance(node, ast.Import):
        return [((alias.asname or alias.name).split(".")[0], Import(alias.name, None)) for alias in node.names]
    if node.level:
        raise ValueError(f"{module}: relative imports are not followed; import by full name")
    assert node.module is not None
    return [(alias.asname or alias.name, Import(node.module, alias.name)) for alias in node.names]


def _for_type_checkers(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _assigns(node: ast.stmt, name: str | None = None) -> ast.expr | None:
    """The value that a statement assigns to a public constant, or to ``name``; else None."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target, value = node.target, node.value
    else:
        return None
    if not isinstance(target, ast.Name):
        return None
    fits = target.id == name if name is not None else target.id.isupper() and not target.id.startswith("_")
    return value if fits else None


def _is_registry(node: ast.stmt, bound: Mapping[str, Import]) -> bool:
    """Whether a statement is a table of imported names, or of names of modules and what to import from them."""
    value = _assigns(node)
    if isinstance(value, ast.Dict):
        return bool(value.values) and all(_is_entry(entry, bound) for entry in value.values)
    if isinstance(value, ast.DictComp) and len(value.generators) == 1:
        listed = value.generators[0].iter
        return isinstance(listed, ast.Tuple | ast.List) and all(_is_entry(entry, bound) for entry in listed.elts)
    return False


def _is_entry(node: ast.expr, bound: Mapping[str, Import]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in bound
    if isinstance(node, ast.Tuple) and node.elts:
        first = node.elts[0]
        return isinstance(first, ast.Constant) and str(first.value).startswith("eigenclean")
    return False


def _drop_docstrings(tree: ast.stmt) -> None:
    for node in ast.walk(tree):
        if isinstance(node, _Scope) and node.body and _is_docstring(node.body[0]):
            node.body = node.body[1:]


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
