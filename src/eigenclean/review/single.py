"""The page as one file without a server: the same code, with everything that it would ask for inside."""

import base64
import hashlib
import json
import re
from typing import Any

from eigenclean.review.assets import page_files
from eigenclean.review.run import Review

MOST = 1000  # suspects, unless more are asked for: with photographs, some tens of megabytes
_SIDE, _SIDE_NEAR = 384, 112  # pixels of a suspect and of a neighbour
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
_FILES = re.compile(r"<!-- files -->.*<!-- /files -->", re.DOTALL)


def single_page(review: Review, *, reviewer: str, most: int = MOST) -> str:
    """One HTML file that keeps decisions in the browser and exports a patch; it loads nothing."""
    files = page_files()
    style, script = files["review.css"].strip(), bundle(files, "main.js")
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    data = f'<script type="application/json" id="data">{_harmless(_data(review, reviewer, most))}</script>'
    page = _FILES.sub(lambda _: head, files["index.html"])
    return page.replace("</body>", f'{data}\n<script type="module">{script}</script>\n</body>')


def bundle(files: dict[str, str], entry: str) -> str:
    """The modules as one script: each becomes a function that returns its exports, called once, in order.

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
        for _, needed in _IMPORT.findall(files[name]):
            visit(needed)
        if name not in order:
            order.append(name)

    visit(entry)
    return "\n".join(["const modules = {};", *(_as_function(name, files[name].strip()) for name in order)])


def _as_function(name: str, text: str) -> str:
    exports = ", ".join(found[1] for found in _EXPORT.findall(text))
    text = _IMPORT.sub(r'const \1 = modules["\2"];', _EXPORT.sub(r"\1", text))
    return f'modules["{name}"] = (() => {{\n{text}\nreturn {{ {exports} }};\n}})();'


def _data(review: Review, reviewer: str, most: int) -> dict[str, Any]:
    n = min(most, len(review.suspects))
    items = review.items(range(n))
    pictures: dict[int, str] = {}
    if review.pictures is not None:
        suspects = {item["row"] for item in items}
        near = {one["row"] for item in items for side in item["near"] for one in side}
        for row in sorted(suspects | near):
            made = review.pictures.get(row, _SIDE if row in suspects else _SIDE_NEAR)
            assert made is not None
            pictures[row] = f"data:{made[1]};base64,{base64.b64encode(made[0]).decode()}"
    return {"run": {**review.describe(n), "reviewer": reviewer}, "items": items, "pictures": pictures}


def _harmless(data: dict[str, Any]) -> str:
    """JSON that cannot end the element it stands in, whatever a text says."""
    return json.dumps(data).replace("<", "\\u003c")


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
