"""`eigenclean list`: the names of everything that can be chosen."""

import inspect
import re
from typing import Annotated, Any

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import print_json, say
from eigenclean.cli.hints.completion import KINDS, complete, table_of
from eigenclean.cli.hints.next_steps import say_next
from eigenclean.names import check_name

_FOLLOWED_BY = {  # the command that takes the name
    "detectors": ("detect", "SOURCE", "--method", "NAME", "--out", "run"),
    "recipes": ("train", "SOURCE", "--recipe", "NAME", "--out", "model"),
    "encoders": ("detect", "SOURCE", "--encoder", "NAME", "--out", "run"),
    "noises": ("noise", "SOURCE", "--kind", "NAME", "--out", "noisy.npz"),
    "cuts": ("detect", "SOURCE", "--method", "fine", "--set", "cut=NAME", "--out", "run"),
    "presets": ("train", "SOURCE", "--preset", "NAME", "--out", "model"),
    "nets": ("train", "SOURCE", "--recipe", "judge", "--net", "NAME", "--out", "model"),
    "losses": ("train", "SOURCE", "--recipe", "standard", "--set", "stage.1.loss=NAME", "--out", "model"),
    "augments": ("train", "SOURCE", "--recipe", "judge", "--set", "augment=NAME", "--out", "model"),
    "datasets": ("detect", "NAME", "--out", "run"),
    "layouts": ("detect", "NAME:FOLDER", "--out", "run"),
    "exports": ("export", "run", "--to", "NAME", "--out", "FILE"),
}
_TRAINED = "Features of a network that is trained on the labels to be judged"


def list_names(
    kind: Annotated[
        str, typer.Argument(help=" | ".join(KINDS), show_default=False, autocompletion=complete(KINDS))
    ],
    as_json: o.Json = False,
) -> None:
    """List the names of what can be chosen, with a line about each."""
    check_name(kind, KINDS, by="eigenclean list", what="kind")
    entries = table_of(kind)
    names = list(entries() if callable(entries) else entries)
    if as_json:
        print_json(names)
        return
    width = max(map(len, names))
    for name in names:
        say(f"{name:<{width}}  {explanation(kind, name, entries)}".rstrip())
    say_next("eigenclean", *(word.replace("NAME", names[0]) for word in _FOLLOWED_BY[kind]))


def explanation(kind: str, name: str, entries: Any) -> str:
    """The first sentence about an entry of a table: its summary, or that of its documentation."""
    if kind == "encoders":
        from eigenclean.features import ENCODERS

        text = ENCODERS[name].summary if name in ENCODERS else _TRAINED
    elif kind == "recipes":
        from eigenclean.train.probe.recipe import Probe
        from eigenclean.train.recipes import RECIPES

        text = inspect.getdoc(RECIPES.get(name, Probe)) or ""
    else:
        text = inspect.getdoc(entries[name]) or "" if callable(entries[name]) else ""
    sentence = re.split(r"(?<=[^.])\.(?:\s|$)|\n\s*\n", text, maxsplit=1)[0]
    return " ".join(sentence.replace("`", "").split()).rstrip(".:")
