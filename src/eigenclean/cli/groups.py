"""Options that belong together and that several commands have, as one dataclass parameter of each command.

Typer reads the options of a command from the signature of its function, so a group of options would have to be
repeated in every function that has it. `with_groups` lets the function take the group as one parameter instead:

    @dataclass(frozen=True)
    class Columns:
        label_column: Annotated[str | None, typer.Option(help="Column of the labels.")] = None

    @with_groups
    def detect(source: str, columns: Columns) -> None: ...

Typer then sees ``detect(*, source: str, label_column: ... = None)``, and ``detect`` gets a ``Columns``.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace every parameter that is annotated with a dataclass by the fields of that dataclass."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            parameters += _options(hints[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
    names = {group: [field.name for field in fields(kind)] for group, kind in groups.items()}

    @functools.wraps(command)
    def expanded(**arguments: Any) -> None:
        built = {
            group: kind(**{name: arguments.pop(name) for name in names[group] if name in arguments})
            for group, kind in groups.items()
        }
        command(**arguments, **built)

    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return expanded


def _options(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
