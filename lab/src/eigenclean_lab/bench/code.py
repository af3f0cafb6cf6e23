"""Fingerprints of source code: a result belongs to the code that made it."""

import ast
import hashlib
import json
from collections.abc import Collection
from functools import cache
from pathlib import Path

import eigenclean

_SOURCE = Path(eigenclean.__file__).parent


@cache
def code_hash(*patterns: str, root: Path = _SOURCE, beside: Collection[str] = ()) -> str:
    """Fingerprint of all source files that match but those ``beside``; comments and docstrings do not count."""
    files = sorted({file for pattern in patterns for file in root.glob(pattern)})
    names = {file: file.relative_to(root).as_posix() for file in files}
    return short_hash(json.dumps([(name, _code(file)) for file, name in names.items() if name not in beside]))


def short_hash(text: str) -> str:
    """Sixteen digits that stand for a text.

    >>> len(short_hash("FINE"))
    16
    """
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _code(file: Path) -> str:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return ast.dump(tree)
