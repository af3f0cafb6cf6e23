"""The MCP server, asked by the client of the official SDK; without a network."""

import asyncio
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

mcp: Any = pytest.importorskip("mcp")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    codes = np.arange(80) % 2
    features = np.random.default_rng(0).normal(size=(80, 3)) + 6 * np.eye(2, 3)[codes]
    np.savez(tmp_path / "x.npz", features=features, labels=np.where(np.arange(80) < 3, 1 - codes, codes))
    return tmp_path


def test_an_agent_walks_from_audit_to_a_proposal(root: Path) -> None:
    from eigenclean.workflows.agents.server import TOOLS, make_server

    async def walk() -> None:
        async with mcp.Client(make_server(root, root / "runs")) as client:
            listed = await client.list_tools()
            assert {tool.name for tool in listed.tools} == set(TOOLS)
            assert all(tool.description and tool.annotations.destructive_hint is False for tool in listed.tools)
            audit = await client.call_tool("audit", {"source": "x.npz", "run": "one"})
            assert not audit.is_error and audit.structured_content["n_flagged"] == 3
            worst = audit.structured_content["worst_suspects"][0]["id"]
            why = await client.call_tool("explain_suspect", {"run": "one", "id": str(worst)})
            assert not why.is_error and why.structured_content["id"] == str(worst)
            proposed = await client.call_tool("propose_patch", {"run": "one", "min_confidence": 0.5})
            assert Path(proposed.structured_content["patch"]).is_file()
            refused = await client.call_tool("audit", {"source": "../x.npz", "run": "two"})
            assert refused.is_error and "data must be inside" in refused.content[0].text
            assert "Traceback" not in refused.content[0].text

    asyncio.run(walk())


@pytest.mark.slow
def test_the_command_speaks_the_protocol_on_its_standard_output(root: Path) -> None:
    stdio: Any = import_module("mcp.client.stdio")

    async def walk() -> None:
        words = ["-m", "eigenclean", "mcp"]
        command = stdio.StdioServerParameters(command=sys.executable, args=words, cwd=str(root), env={**os.environ})
        async with mcp.Client(stdio.stdio_client(command)) as client:
            audit = await client.call_tool("audit", {"source": "digits", "run": "one"})
            assert audit.structured_content["n_samples"] == 1797

    asyncio.run(walk())
