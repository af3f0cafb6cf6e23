"""Files of web pages that are kept inside the package, and JavaScript modules as one script."""

import re
from importlib.resources import files

# The modules of our pages use these two forms only (a test checks that nothing else is left over).
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)


def asset_files(package: str) -> dict[str, str]:
    """The content of each file in the folder ``page`` of a package, by name.

    They are read once, so no name in a request reaches the file system.
    """
    folder = files(package) / "page"
    return {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if "." in entry.name}


def bundle(contents: dict[str, str], entry: str) -> str:
    """The modules that ``entry`` needs as one script: each is a function that returns its exports, called in order.

    A file that is opened without a server cannot import modules. A JavaScript bundler would need Node when the
    package is built; see docs/decisions.

    >>> print(bundle({"a.js": 'import { b } from "./b.js";\\nb();', "b.js": "export const b = () => 1;"}, "a.js"))
    const modules = {};
    modules["b.js"] = (() => {
    const b = () => 1;
    return { b };
    })();
    modules["a.js"] = (() => {
    const { b } = modules["b.js"];
    b();
    return {  };
    })();
    """
    order: list[str] = []

    def visit(name: str) -> None:
        for _, dependency in _IMPORT.findall(contents[name]):
            visit(dependency)
        if name not in order:
            order.append(name)

    visit(entry)
    return "\n".join(["const modules = {};", *(_as_function(name, contents[name].strip()) for name in order)])


def _as_function(name: str, source: str) -> str:
    exported_names = ", ".join(exported for _, exported in _EXPORT.findall(source))
    body = _IMPORT.sub(r'const \1 = modules["\2"];', _EXPORT.sub(r"\1", source))
    return f'modules["{name}"] = (() => {{\n{body}\nreturn {{ {exported_names} }};\n}})();'
