"""Commands of other packages: whatever is installed under the entry point group ``eigenclean.commands``."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer

from eigenclean.errors import MissingExtra

GROUP = "eigenclean.commands"
LAB = {  # commands of eigenclean-lab, which answer also where it is not installed
    "bench": "Measure speed and quality on real data (needs eigenclean-lab).",
    "reproduce": "The paper's tables, figures and theorems as commands (needs eigenclean-lab).",
}
_ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def add_plugins(app: typer.Typer) -> None:
    """Add the commands of installed packages to ``app``, and a pointer to the lab for those that are missing."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    for name in [*LAB, *(name for name in sorted(found) if name not in LAB)]:
        if name in found:
            _add(app, found[name])
        else:
            app.command(name, help=LAB[name], context_settings=_ANYTHING)(_missing(name))


def _add(app: typer.Typer, point: EntryPoint) -> None:
    command: Any = point.load()
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=point.name)
    else:
        app.command(point.name)(command)


def _missing(name: str) -> Any:
    def command() -> None:
        raise MissingExtra(
            f"eigenclean {name} is part of the laboratory; install it with: pip install eigenclean-lab"
        )

    return command
