"""`eigenclean list`: the names of everything that can be chosen."""

from dataclasses import dataclass
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import print_json, say
from eigenclean.cli.hints.completion import KINDS, complete, table_of
from eigenclean.cli.hints.explanations import explanation
from eigenclean.cli.hints.next_steps import say_next
from eigenclean.names import check_name


@dataclass(frozen=True)
class _Kind:
    """What the names of a kind are, and the command that takes one, with NAME for it."""

    summary: str
    command: str


_ABOUT = {
    "detectors": _Kind("methods that find wrong labels", "detect SOURCE --method NAME --out run"),
    "cuts": _Kind("splits of scores into right and wrong", "detect SOURCE --method fine --set cut=NAME --out run"),
    "noises": _Kind("kinds of planted errors", "noise SOURCE --kind NAME --out noisy.npz"),
    "recipes": _Kind("methods that train on noisy labels", "train SOURCE --recipe NAME --out model"),
    "presets": _Kind("schedule and network of a training", "train SOURCE --preset NAME --out model"),
    "nets": _Kind("networks", "train SOURCE --recipe judge --net NAME --out model"),
    "losses": _Kind("losses of a training", "train SOURCE --recipe standard --set stage.1.loss=NAME --out model"),
    "augments": _Kind(
        "random changes of training images", "train SOURCE --recipe judge --set augment=NAME --out model"
    ),
    "encoders": _Kind("models that turn images and texts into features", "detect SOURCE --encoder NAME --out run"),
    "datasets": _Kind("data that are installed with it", "detect NAME --out run"),
    "layouts": _Kind("folders of published data sets that it reads", "detect NAME:FOLDER --out run"),
    "exports": _Kind("files for other tools", "export run --to NAME --out FILE"),
}


def list_names(
    kind: Annotated[
        str | None, typer.Argument(help=" | ".join(KINDS), show_default=False, autocompletion=complete(KINDS))
    ] = None,
    as_json: o.Json = False,
) -> None:
    """List the names of what can be chosen, with a line about each; without a kind, the kinds."""
    if kind is None:
        about = {name: _ABOUT[name].summary for name in KINDS}
        follows = "list detectors"
    else:
        check_name(kind, KINDS, by="eigenclean list", what="kind")
        entries = table_of(kind)
        about = {name: explanation(kind, name) for name in (entries() if callable(entries) else entries)}
        follows = _ABOUT[kind].command.replace("NAME", next(iter(about)))
    if as_json:
        print_json(list(about))
        return
    width = max(map(len, about))
    for name, sentence in about.items():
        say(f"{name:<{width}}  {sentence}")
    say_next("eigenclean", *follows.split())
