"""`eigenclean list`: the names of everything that can be chosen."""

from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import print_json, say
from eigenclean.names import check_name


def _detectors() -> Iterable[str]:
    from eigenclean.detect import DETECTORS

    return DETECTORS


def _cuts() -> Iterable[str]:
    from eigenclean.detect.cuts import CUTS

    return CUTS


def _noises() -> Iterable[str]:
    from eigenclean.noise import NOISES

    return NOISES


def _recipes() -> Iterable[str]:
    from eigenclean.train import RECIPES

    return RECIPES


def _nets() -> Iterable[str]:
    from eigenclean.nets import NETS

    return NETS


def _datasets() -> Iterable[str]:
    from eigenclean.sources.bundled import DATASETS

    return DATASETS


KINDS: dict[str, Callable[[], Iterable[str]]] = {
    "detectors": _detectors,
    "cuts": _cuts,
    "noises": _noises,
    "recipes": _recipes,
    "nets": _nets,
    "datasets": _datasets,
}


def list_names(
    kind: Annotated[str, typer.Argument(help=" | ".join(KINDS), show_default=False)],
    as_json: o.Json = False,
) -> None:
    """List the names of what can be chosen."""
    check_name(kind, KINDS, by="eigenclean list", what="kind")
    names = list(KINDS[kind]())
    if as_json:
        print_json(names)
        return
    for name in names:
        say(name)
