"""Commands of other packages: installed, missing, broken."""

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer

from eigenclean.cli import app as app_module
from eigenclean.cli import plugins
from eigenclean.cli.app import run

PLUGIN = '''
import typer

tool = typer.Typer(help="Somebody's tool.", no_args_is_help=True)

@tool.command("double")
def double(number: int, times: int = 1) -> None:
    """Double a number."""
    typer.echo(number * 2 ** times)

@tool.command("fail")
def fail() -> None:
    raise typer.Exit(1)

def greet(name: str = "you") -> None:
    """Greet somebody."""
    typer.echo(f"hello {name}")
'''
ENTRY_POINTS = """[eigenclean.commands]
tool = somebodys_plugin:tool
greet = somebodys_plugin:greet
broken = somebodys_broken_plugin:command
missing-name = somebodys_plugin:nothing
"""


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake installed distribution with two working commands, two broken ones."""
    (tmp_path / "somebodys_plugin.py").write_text(PLUGIN)
    (tmp_path / "somebodys_broken_plugin.py").write_text("raise RuntimeError('no such device')\n")
    info = tmp_path / "somebodys_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: somebodys-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.fixture
def eigenclean(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the program with the plugins that are installed now, without importing it anew."""

    def call(*arguments: str) -> tuple[int, str, str]:
        fresh = typer.Typer(
            callback=app_module.options, no_args_is_help=True, add_completion=False, rich_markup_mode=None
        )
        ours = [command for command in app_module.app.registered_commands if command.name not in plugins.LAB]
        fresh.registered_commands = [command for command in ours if command.name in ("detect", "list", "noise")]
        monkeypatch.setattr(app_module, "plugin_warnings", plugins.add_plugins(fresh))
        monkeypatch.setattr(app_module, "app", fresh)
        code = run(arguments)
        out, err = capfd.readouterr()
        return code, out, err

    return call


Program = Callable[..., tuple[int, str, str]]


def test_a_plugin_gets_all_its_arguments(distribution: Path, eigenclean: Program) -> None:
    assert eigenclean("tool", "double", "3") == (0, "6\n", "")
    assert eigenclean("tool", "double", "--times", "3", "1") == (0, "8\n", "")
    assert eigenclean("greet", "--name", "Ada") == (0, "hello Ada\n", "")


def test_exit_codes_and_usage_errors_are_the_plugins(distribution: Path, eigenclean: Program) -> None:
    assert eigenclean("tool", "fail")[0] == 1
    code, _, err = eigenclean("tool", "double", "many")
    assert code == 2 and "see `eigenclean tool double --help`" in err
    code, _, err = eigenclean("tool", "halve", "2")
    assert code == 2 and "halve" in err


def test_help_is_the_plugins_own(distribution: Path, eigenclean: Program) -> None:
    code, out, _ = eigenclean("tool", "--help")
    assert code == 0 and "Somebody's tool." in out and "eigenclean tool" in out
    code, out, _ = eigenclean("tool", "double", "--help")
    assert code == 0 and "--times" in out


def test_the_list_of_commands_names_plugins_without_importing_them(
    distribution: Path, eigenclean: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(point: EntryPoint) -> None:
        raise AssertionError(f"{point.name} was loaded")

    monkeypatch.setattr(EntryPoint, "load", refuse)
    code, out, err = eigenclean("--help")
    assert (code, err) == (0, "")
    for name in ("detect", "bench", "reproduce", "tool", "greet", "broken"):
        assert f"\n  {name} " in out
    assert "Command of the package somebodys-plugin." in out
    assert eigenclean("list", "noises")[0] == 0


@pytest.mark.parametrize(("name", "reason"), [("broken", "no such device"), ("missing-name", "nothing")])
def test_a_broken_plugin_is_one_sentence_and_breaks_nothing_else(
    distribution: Path, eigenclean: Program, name: str, reason: str
) -> None:
    code, out, err = eigenclean(name, "--help")
    assert (code, out) == (2, "")
    assert err.startswith(f"eigenclean: the command {name} of somebodys-plugin cannot be loaded")
    assert reason in err and err.count("\n") == 1
    assert eigenclean("list", "noises")[0] == 0


def test_a_plugin_cannot_replace_a_command_of_ours(distribution: Path, eigenclean: Program) -> None:
    with open(distribution / "somebodys_plugin-1.0.dist-info" / "entry_points.txt", "a") as file:
        file.write("detect = somebodys_plugin:greet\n")
    code, out, err = eigenclean("detect", "--help")
    assert code == 0 and "Find labels that are probably wrong" in out
    assert err == (
        "eigenclean: warning: the command detect of somebodys-plugin is left out, because eigenclean has its own\n"
    )
    assert eigenclean("greet") == (0, "hello you\n", err)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("quality", "--seeds", "3"), ("--json",)])
@pytest.mark.parametrize("name", plugins.LAB)
def test_without_the_lab_its_commands_say_how_to_install_it(
    eigenclean: Program, monkeypatch: pytest.MonkeyPatch, name: str, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(plugins, "entry_points", lambda group: [])
    assert eigenclean(name, *arguments) == (
        2,
        "",
        f"eigenclean: eigenclean {name} is part of eigenclean-lab, which is not installed: "
        "pip install eigenclean-lab\n",
    )


def test_commands_of_ours_do_not_import_the_lab() -> None:
    code = (
        "import sys; from eigenclean.cli.app import run; run(['list', 'noises']); run(['--help']); "
        "print({'eigenclean_lab', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
