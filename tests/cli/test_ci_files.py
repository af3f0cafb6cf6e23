"""The GitHub Action and the hook of pre-commit run commands that exist, and end as those do."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]

from eigenclean.noise import add_noise

ROOT = Path(__file__).parents[2]
Cli = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two tables: one whose labels are right, and one with errors."""
    monkeypatch.chdir(tmp_path)
    right = np.arange(120) % 3
    columns = np.random.default_rng(0).normal(size=(120, 2)) + 9 * np.eye(3)[right][:, :2]
    frame = pd.DataFrame(columns, columns=["width", "height"])
    for name, labels in {"good.csv": right, "bad.csv": add_noise(right, rate=0.3)}.items():
        frame.assign(kind=np.array(["ant", "bee", "cat"])[labels]).to_csv(name, index=False)
    return tmp_path


def test_the_hook_stops_a_commit_of_wrong_labels(cli: Cli, folder: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    words = [*hook["entry"].split()[1:], *hook["args"], "--method=knn"]
    assert cli(*words, "good.csv").code == 0
    ran = cli(*words, "good.csv", "bad.csv")
    assert ran.code == 1 and "bad.csv failed" in ran.out


@pytest.mark.parametrize(("source", "code"), [("good.csv", 0), ("bad.csv", 1), ("missing.csv", 2)])
def test_the_action_annotates_and_ends_as_the_command_does(folder: Path, source: str, code: int) -> None:
    step = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"][-1]
    program = folder / "bin" / "eigenclean"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m eigenclean "$@"\n')
    program.chmod(0o755)
    given = {"SOURCE": source, "MAX_NOISE": "0.02", "OPTIONS": "--label-column kind --method knn"}
    assert step["env"].keys() == given.keys()
    summary = folder / "summary.md"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],  # as GitHub does
        env={
            **os.environ,
            **given,
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(folder),
            "GITHUB_STEP_SUMMARY": str(summary),
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    assert ("::warning file=bad.csv,line=" in done.stdout) == (code == 1)
    assert summary.exists() == (code < 2)
    if code == 0:
        assert "| good.csv | passed |" in summary.read_text()
        assert done.stdout.startswith("eigenclean check: good.csv passed: ")
    elif code == 1:
        assert "| bad.csv | **failed** |" in summary.read_text()
    else:
        assert "missing.csv" in done.stderr and done.stderr.count("\n") == 1
