"""`eigenclean list`: the names of everything that can be chosen."""

from importlib import import_module
from typing import Annotated

import typer

from eigenclean.cli import options as o
from eigenclean.cli.console import print_json, say
from eigenclean.names import check_name

KINDS = {  # the table of each kind; its module is imported when it is listed
    "detectors": ("eigenclean.detect", "DETECTORS"),
    "cuts": ("eigenclean.detect.cuts", "CUTS"),
    "noises": ("eigenclean.noise", "NOISES"),
    "recipes": ("eigenclean.train", "recipe_names"),
    "presets": ("eigenclean.train.presets", "PRESETS"),
    "nets": ("eigenclean.nets", "NETS"),
    "losses": ("eigenclean.losses", "LOSSES"),
    "augments": ("eigenclean.train.augment", "AUGMENTS"),
    "encoders": ("eigenclean.workflows.embedding", "encoder_names"),
    "datasets": ("eigenclean.sources.layouts.bundled", "DATASETS"),
    "layouts": ("eigenclean.sources.layouts.registry", "LAYOUTS"),
    "exports": ("eigenclean.report.exports", "EXPORTS"),
}


def list_names(
    kind: Annotated[str, typer.Argument(help=" | ".join(KINDS), show_default=False)],
    as_json: o.Json = False,
) -> None:
    """List the names of what can be chosen."""
    check_name(kind, KINDS, by="eigenclean list", what="kind")
    module, table = KINDS[kind]
    entries = getattr(import_module(module), table)
    names = list(entries() if callable(entries) else entries)
    if as_json:
        print_json(names)
        return
    for name in names:
        say(name)
