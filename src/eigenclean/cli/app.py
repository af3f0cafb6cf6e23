"""The `eigenclean` command: commands are registered here, errors become one line here."""

import io
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.exceptions import TyperException

from eigenclean.cli import INTERRUPTED
from eigenclean.cli.check import check
from eigenclean.cli.console import printable
from eigenclean.cli.demo import demo
from eigenclean.cli.detect import detect
from eigenclean.cli.embed import embed
from eigenclean.cli.export import export
from eigenclean.cli.listing import list_names
from eigenclean.cli.mcp import mcp
from eigenclean.cli.noise import noise
from eigenclean.cli.patch import patch
from eigenclean.cli.plugins import add_plugins
from eigenclean.cli.predict import predict
from eigenclean.cli.review import review
from eigenclean.cli.score import score
from eigenclean.cli.train import train
from eigenclean.errors import EigencleanError
from eigenclean.version import __version__

app = typer.Typer(
    name="eigenclean",
    help="Find wrong labels in a data set, and train well in spite of them.",
    epilog="Start with `eigenclean demo`, or with data of yours: `eigenclean detect data.csv --out run`.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("demo", short_help="Plant wrong labels in bundled data, and find them.")(demo)
app.command("detect", short_help="Find labels that are probably wrong.")(detect)
app.command("embed", short_help="Turn images or texts into features.")(embed)
app.command("review", short_help="Go through the suspects in a local page, and decide.")(review)
app.command("noise", short_help="Make some labels wrong on purpose.")(noise)
app.command("score", short_help="Measure a verdict against the truth.")(score)
app.command("train", short_help="Train a classifier in spite of wrong labels.")(train)
app.command("predict", short_help="Label new rows with a trained model.")(predict)
app.command("check", short_help="Exit with 1 when too many labels are wrong.")(check)
app.command("export", short_help="Write a verdict for spreadsheets and other tools.")(export)
app.command("list", short_help="List the names of what can be chosen.")(list_names)
app.command("mcp", short_help="Serve tools for agents, none of which writes to data.")(mcp)
app.add_typer(patch, name="patch", short_help="Show patches of labels, apply them, take them back.")
plugin_warnings = add_plugins(app)

USER_ERROR = 2
_LONGEST = 1000  # characters of a sentence: a label in it may be a whole document


def _version(is_asked_for: bool) -> None:
    if is_asked_for:
        typer.echo(f"eigenclean {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Find wrong labels in a data set, and train well in spite of them."""


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; an error is one line on standard error."""
    _escape_unprintable()
    debug = "--debug" in arguments  # wherever it stands: whoever needs it adds it at the end of the last command
    for warning in plugin_warnings:
        _say(warning)
    try:
        code = app([a for a in arguments if a != "--debug"], prog_name="eigenclean", standalone_mode=False)
        if code == INTERRUPTED:  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # nothing was asked for; typer does not export the class
            typer.echo(error.format_message())  # the help as it is, not squeezed into a sentence
            return 0
        _say(_usage(error))
        return USER_ERROR
    except EigencleanError as error:
        if debug:
            raise
        _say(str(error))
        return USER_ERROR
    except BrokenPipeError:  # the reader of our output has gone, as in `eigenclean list detectors | head -1`
        sys.stdout = None
        return 0
    except Exception as error:
        if debug:
            raise
        from eigenclean.files import is_write_error

        if isinstance(error, OSError) and is_write_error(error):  # such as that of printing to a full disk
            _say(f"cannot write {error.filename or 'the output'}: {error.strerror}; make room, and run it again")
            return USER_ERROR
        _say(f"unexpected {type(error).__name__}: {error}; run again with --debug and please report it")
        return 1


def _escape_unprintable() -> None:
    """What the terminal cannot show (its encoding is not UTF-8, or a file name is not) is printed as an escape."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _usage(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    command = "eigenclean" if context is None else context.command_path
    sentence = error.format_message().rstrip(".").replace(". Did you mean", "; did you mean")
    return f"{sentence} See `{command} --help`" if sentence.endswith("?") else f"{sentence}; see `{command} --help`"


def _say(sentence: str) -> None:
    """One line on standard error, whatever a file or a label in the sentence contains.

    Control characters are escaped, because they could move the cursor of a terminal or hide text.
    """
    line = printable(" ".join(sentence.split()))
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"
    sys.stderr.write(f"eigenclean: {line}\n")
