"""What the commands print with: a console for results and one for messages, progress bars and tables."""

import json
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from eigenclean.errors import EigencleanWarning
from eigenclean.progress import listening
from eigenclean.workflows.progress.display import Bars, LogLines, progress_bars

console = Console(highlight=False)  # results
messages = Console(stderr=True, highlight=False)  # everything else, so that results can be piped
_UNLIMITED = 10_000  # characters: a console wide enough for any table


@contextmanager
def working() -> Iterator[None]:
    """Show progress while the block runs, as bars or as lines of a log, and the library's warnings as notes."""
    with progress_bars(messages, disable=not messages.is_terminal) as progress, warnings.catch_warnings():
        show = warnings.showwarning

        def as_note(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, EigencleanWarning):
                mention(f"note: {message}")
            else:
                show(message, category, filename, lineno, file, line)

        warnings.simplefilter("always", EigencleanWarning)
        warnings.showwarning = as_note
        with listening(Bars(progress) if messages.is_terminal else LogLines(mention)):
            yield


def printable(text: str) -> str:
    r"""The text with control characters escaped: names of columns and labels may hold anything.

    >>> printable("a\x1b[2Jb\n")
    'a\\x1b[2Jb\n'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" or unicodedata.category(c) == "Zs" else repr(c)[1:-1] for c in text
    )


def say(sentence: str) -> None:
    """Print a line of the result to standard output, unwrapped and without markup."""
    console.print(printable(sentence), markup=False, soft_wrap=True)


def mention(sentence: str) -> None:
    """Print a message to standard error, unwrapped and without markup."""
    messages.print(printable(sentence), markup=False, soft_wrap=True)


def print_json(record: Any) -> None:
    """One JSON document on standard output, for machines."""
    sys.stdout.write(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def table(title: str | None, *columns: str) -> Table:
    """An empty table in the project's style: first column to the left, the others to the right."""
    built = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        built.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    return built


def print_whole(whole: Table) -> None:
    """Print a table with every cell on one line, beyond the width of the console if need be.

    A number that is broken in two is worse than a long line.
    """
    for column in whole.columns:
        column.no_wrap = True
    needed = console.measure(whole, options=console.options.update(max_width=_UNLIMITED)).maximum
    Console(highlight=False, width=max(needed, console.width)).print(whole)
