"""The line that `eigenclean list` prints about a name: a summary, or the first sentence of a docstring."""

import ast
import inspect
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from eigenclean.cli.hints.completion import table_of

_TRAINED = "Features of a network that is trained on the labels to be judged"


def explanation(kind: str, name: str) -> str:
    """One sentence about an entry of the table of a kind.

    >>> explanation("detectors", "mcd")
    'Minimum covariance determinant, one step of it, as in RoG (Lee et al., ICML 2019)'
    >>> explanation("presets", "head")
    'Network mlp, 30 epochs, the first 3 on all samples'
    """
    if kind == "encoders":
        from eigenclean.features import ENCODERS

        return _first_sentence(ENCODERS[name].summary if name in ENCODERS else _TRAINED)
    if kind == "recipes":
        from eigenclean.train.probe.recipe import Probe
        from eigenclean.train.recipes import RECIPES

        return _first_sentence(inspect.getdoc(RECIPES.get(name, Probe)) or "")
    entry = table_of(kind)[name]
    if kind == "presets":
        warm_up = f"the first {entry.warm_up}" if entry.warm_up > 1 else "the first"
        return f"Network {entry.net}, {entry.epochs} epochs, {warm_up} on all samples"
    if kind == "exports":
        return _first_sentence(inspect.getdoc(entry.write) or "")
    if isinstance(entry, tuple):
        sentence = _first_sentence(_class_doc(entry[0], entry[1]))
        options = entry[2] if kind == "augments" else {}
        settings = ", ".join(f"{option}={value}" for option, value in options.items())
        return f"{sentence} ({settings})" if settings else sentence
    return _first_sentence(inspect.getdoc(entry) or "")


def _class_doc(module: str, class_name: str) -> str:
    """The docstring of a class, read from its file: importing it would take torch, and seconds."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    body: list[Any] = ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body
    classes = (node for node in body if isinstance(node, ast.ClassDef) and node.name == class_name)
    return next((ast.get_docstring(node) or "" for node in classes), "")


def _first_sentence(text: str) -> str:
    """The first sentence on one line, without the marks of the documentation and without its stop.

    >>> _first_sentence("The mixture of `DivideMix`, after Arazo et al. (2019). More.")
    'The mixture of DivideMix, after Arazo et al. (2019)'
    """
    sentence = re.split(r"(?<=[^.])(?<!et al)\.(?:\s|$)|\n\s*\n", text, maxsplit=1)[0]
    return " ".join(sentence.replace("`", "").split()).rstrip(".:")
