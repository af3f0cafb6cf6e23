"""A small part of `make attack`, in a process of its own: it forks, which a process with threads must not."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attacks.kinds import KINDS

ROOT = Path(__file__).parents[2]
# Targets that are cheap to build; the others train networks or start clusters.
SMALL = (
    *(
        f"fuzz/{name}"
        for name in ("csv", "parquet", "npz", "npy", "hugging-face", "patch", "run", "truth", "moments")
    ),
    *(f"kill/{name}" for name in ("detect", "patch", "patch-images", "review")),
    *(f"artefacts/{name}" for name in ("pickles", "patches", "moves", "links", "publications", "databases")),
    *(f"server/{name}" for name in ("access", "traversal", "malformed", "bodies")),
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The table of a small attack."""
    path = tmp_path_factory.mktemp("attack") / "table.json"
    command = [sys.executable, "-m", "attacks", "--only", ",".join(SMALL), "--scale", "0.01", "--jobs", "1"]
    ended = subprocess.run(
        [*command, "--json", str(path)],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert path.exists(), ended.stderr
    return json.loads(path.read_text())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_no_promise_is_broken(kind: str, table: Any) -> None:
    rows = [row for row in table["kinds"] if row["kind"].startswith(f"{kind}/")]
    assert rows and all(row["tried"] for row in rows)
    assert [broken for broken in table["broken"] if broken["case"].startswith(f"{kind}/")] == []
