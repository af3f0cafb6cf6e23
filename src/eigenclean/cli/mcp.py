"""`eigenclean mcp`: tools for agents over the Model Context Protocol."""

from pathlib import Path
from typing import Annotated

import typer

from eigenclean.cli.console import mention
from eigenclean.errors import InvalidOption


def mcp(
    root: Annotated[Path, typer.Option(help="Folder of the data; nothing outside it is read.")] = Path(),
    runs: Annotated[
        Path, typer.Option(help="Folder for results and proposed patches; nothing is written elsewhere.")
    ] = Path("eigenclean-runs"),
) -> None:
    """Serve tools for agents (Model Context Protocol) over standard input and output, until it is closed.

    An agent can audit data, list and explain suspects, check a limit and propose a patch. No tool writes to data: a
    person looks at the patch and applies it with `eigenclean patch`.
    """
    from eigenclean.workflows.agents.server import make_server

    if not root.is_dir():
        raise InvalidOption(f"mcp: --root must be a folder, got {root}")
    server = make_server(root, runs)
    mention(f"serving tools for data in {root.resolve()}; results go to {runs.resolve()}")
    server.run("stdio")
