"""Commands of other packages: entry points of the group ``eigenclean.commands``, loaded when they are called.

An entry point names a `typer.Typer` or a function. The help of `eigenclean` lists it by name and package without
importing it, so that other commands neither wait for a plugin nor fail with a broken one.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer

from eigenclean.errors import EigencleanError, MissingExtra

GROUP = "eigenclean.commands"
LAB = {  # commands of eigenclean-lab: listed, with an answer, also where it is not installed
    "bench": "Measure speed and quality (needs eigenclean-lab).",
    "reproduce": "The paper as commands (needs eigenclean-lab).",
}
# All arguments, --help among them, are for the plugin.
_PASS_ON = {
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "allow_interspersed_args": False,
    "help_option_names": [],
}


def add_plugins(app: typer.Typer) -> list[str]:
    """Add the commands of installed packages to ``app``; return a warning for each one that has a name of ours."""
    builtin = {command.name for command in app.registered_commands} | {
        group.name for group in app.registered_groups
    }
    installed = plugins()
    warnings = []
    for name in [*LAB, *sorted(set(installed) - set(LAB))]:
        point = installed.get(name)
        if name not in builtin:
            app.command(name, help=_help(name, point), context_settings=dict(_PASS_ON))(_command(name, point))
        elif point is not None:
            warnings.append(
                f"warning: the command {name} of {_package(point)} is left out, because eigenclean has its own"
            )
    return warnings


def plugins() -> dict[str, EntryPoint]:
    """The installed entry points by name; of two with the same name, the first one found."""
    installed: dict[str, EntryPoint] = {}
    for point in entry_points(group=GROUP):
        installed.setdefault(point.name, point)
    return installed


def load_plugin(name: str, point: EntryPoint) -> Any:
    """The command of an entry point, ready to run; an `EigencleanError` says why it cannot be loaded."""
    try:
        loaded = point.load()
        if not isinstance(loaded, typer.Typer):
            function, loaded = loaded, typer.Typer(add_completion=False, rich_markup_mode=None)
            loaded.command(name)(function)
        return typer.main.get_command(loaded)
    except Exception as error:
        raise EigencleanError(
            f"the command {name} of {_package(point)} cannot be loaded ({type(error).__name__}: {error}); "
            "update or uninstall that package"
        ) from error


def loaded_plugins(names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """The commands of those names that are installed, imported: for the reference pages."""
    installed = plugins()
    for name in names:
        if name in installed:
            yield name, load_plugin(name, installed[name])


def _command(name: str, point: EntryPoint | None) -> Callable[..., Any]:
    """A command that loads the plugin and hands its arguments on."""

    def run_plugin(context: typer.Context) -> Any:
        if point is None:
            raise MissingExtra(
                f"eigenclean {name} is part of eigenclean-lab, which is not installed: pip install eigenclean-lab"
            )
        command = load_plugin(name, point)
        return command.main(args=context.args, prog_name=f"eigenclean {name}", standalone_mode=False)

    return run_plugin


def _help(name: str, point: EntryPoint | None) -> str:
    if point is None:
        return LAB[name]
    return LAB[name].replace("(needs ", "(from ") if name in LAB else f"Command of the package {_package(point)}."


def _package(point: EntryPoint) -> str:
    return point.value.partition(":")[0].partition(".")[0] if point.dist is None else point.dist.name
