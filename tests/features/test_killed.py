"""A real process, killed with SIGKILL in the middle of embedding: the next one goes on where it was."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eigenclean.sources import open_source

N = 60
ENCODER = """
import time
import numpy as np
from eigenclean.features.encoders.base import Encoder

class Slow(Encoder):
    kind, batch = "image", 3
    def __init__(self, *, name, device, half):
        self.name = name
    def about(self):
        return {}
    def prepare(self, content):
        return np.asarray(content, dtype=np.float32)
    def encode(self, prepared):
        time.sleep(float(open("pause.txt").read()))
        return np.stack(prepared).mean(axis=(1, 2))
"""
SCRIPT = """
import sys
sys.path.insert(0, ".")
from eigenclean.features import registry as table
from eigenclean.features import embedding
from eigenclean.cli import main
embedding._SAVE_SECONDS = 0.0
table.ENCODERS["slow"] = table.EncoderEntry("slow_encoder", "Slow", "slow", ("numpy",))
main(["embed", "photos", "--encoder", "slow", "--out", sys.argv[1], "--cache", "cache", "--json"])
"""


def start(folder: Path, out: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, out],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def known(folder: Path) -> int:
    return sum(path.stat().st_size // 16 for path in folder.glob("cache/*/*.keys"))


@pytest.mark.slow
def test_killed_twice_it_computes_every_image_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for row in range(N):
        folder = tmp_path / "photos" / ("cat" if row % 2 else "dog")
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)).save(folder / f"{row:02d}.png")
    (tmp_path / "slow_encoder.py").write_text(ENCODER)
    (tmp_path / "pause.txt").write_text("0.2")
    before = 0
    for _ in range(2):
        process = start(tmp_path, "features.npz")
        deadline = time.monotonic() + 60
        while known(tmp_path) < before + 6 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert before + 6 <= known(tmp_path) < N
        before = known(tmp_path)
        assert not (tmp_path / "features.npz").exists()
    (tmp_path / "pause.txt").write_text("0")
    process = start(tmp_path, "features.npz")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    facts = json.loads(out)
    assert facts["n_computed"] == N - before and facts["n_embedded"] == N
    written = open_source(tmp_path / "features.npz")
    for name, row in zip(written.ids.tolist(), written.features(), strict=True):
        expected = np.asarray(Image.open(tmp_path / "photos" / name)).mean(axis=(0, 1))
        np.testing.assert_allclose(row, expected, rtol=1e-5)
