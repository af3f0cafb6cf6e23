"""The command line: one file per command; parse, call the library, print."""

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; exit with 0, with 2 for a user's mistake, with 130 after Ctrl-C."""
    try:
        from eigenclean.cli.app import run  # a second of imports, during which Ctrl-C must work as well

        sys.exit(run(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        # Everything has been cleaned up on the way here. Leave without waiting for threads, and before Python gets
        # to kill itself with the same signal, which it does when the interrupt came in the middle of an import.
        sys.stderr.write("eigenclean: stopped\n")
        sys.stderr.flush()
        os._exit(INTERRUPTED)
