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


@pytest.mark.parametrize("delay", [0.5, 1.5, 3.0])
def test_ctrl_c(large: Path, tmp_path: Path, delay: float) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "eigenclean", "detect", str(large), "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(delay)  # the interpreter itself needs a moment before anyone can catch a signal
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.strip().splitlines()[-1] == "eigenclean: stopped"
    assert "Traceback" not in err
    assert not out.exists() or list(out.iterdir()) == []
