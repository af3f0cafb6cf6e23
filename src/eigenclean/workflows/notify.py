"""Messages of a workflow to its user: the command line prints them, Python code may do what it likes."""

from collections.abc import Callable

Notify = Callable[[str], None]


def ignore(message: str) -> None:
    """Drop a message: the default of every workflow."""
