"""Groups of options: a dataclass parameter becomes options of the command, and arrives as the dataclass."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from eigenclean.cli import options as o
from eigenclean.cli.app import app
from eigenclean.cli.groups import with_groups


@dataclass(frozen=True)
class Base:
    first: Annotated[int, typer.Option(help="The first number.")] = 1


@dataclass(frozen=True)
class Group(Base):
    names: Annotated[list[str] | None, typer.Option("--name", help="A name.")] = None


def program() -> tuple[typer.Typer, list[object]]:
    calls: list[object] = []
    tool = typer.Typer()

    @tool.command()
    @with_groups
    def command(*, source: Annotated[str, typer.Argument()], loud: bool = False, group: Group) -> None:
        """Do it."""
        calls.append((source, loud, group))

    return tool, calls


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["x"], ("x", False, Group())),
        (["x", "--first", "5", "--loud"], ("x", True, Group(5))),
        (["--name", "a", "x", "--name", "b"], ("x", False, Group(1, ["a", "b"]))),
    ],
)
def test_options_arrive_as_the_group(arguments: list[str], expected: object) -> None:
    tool, calls = program()
    result = CliRunner().invoke(tool, arguments)
    assert result.exit_code == 0, result.output
    assert calls == [expected]


def test_help_lists_the_options_where_the_group_stands() -> None:
    tool, _ = program()
    text = CliRunner().invoke(tool, ["--help"]).output
    assert "Do it." in text and "The first number." in text
    assert text.index("--loud") < text.index("--first") < text.index("--name")


def test_two_groups_with_the_same_option_are_a_mistake() -> None:
    def command(first: Base, two: Base) -> None: ...

    with pytest.raises(ValueError, match="duplicate parameter name: 'first'"):
        with_groups(command)


def test_every_command_on_data_reads_columns_by_the_same_options() -> None:
    commands = {command.name: command.callback for command in app.registered_commands}
    shared = set(o.TableOptions.__dataclass_fields__)
    for name in ("detect", "check", "noise", "train", "predict"):
        callback = commands[name]
        assert callback is not None
        assert shared <= set(callback.__annotations__), name
