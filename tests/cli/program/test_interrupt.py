"""Ctrl-C stops a real process at once, with 130 and no partial file, wherever it hits."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough classes that judging takes several seconds."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    np.savez(
        folder / "x.npz",
        features=rng.normal(size=(60_000, 256)).astype(np.float32),
        labels=rng.integers(0, 6000, 60_000),
    )
    return folder / "x.npz"


# The interpreter itself needs a moment before anyone can catch a signal, and longer on a busy machine.
PROGRAM = "import sys; from eigenclean.cli import main; print('ready', flush=True); main(sys.argv[1:])"


@pytest.mark.parametrize("delay", [0.1, 1.0, 2.5])
def test_ctrl_c(large: Path, tmp_path: Path, delay: float) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-c", PROGRAM, "detect", str(large), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.strip().splitlines()[-1] == "eigenclean: stopped"
    assert "Traceback" not in err
    assert not out.exists() or list(out.iterdir()) == []
