"""Real processes: killed at random moments, interrupted, and two working together."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from eigenclean.train import RobustClassifier

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# Some ten epochs of some milliseconds each, with selections in between; the import takes longer than the training.
SCRIPT = """
import sys
import numpy as np, torch
from sklearn.datasets import load_digits
from eigenclean.train import RobustClassifier, recipe
torch.set_num_threads(1)
X, y = load_digits(return_X_y=True)
y = np.where(np.arange(len(y)) % 3 == 0, (y + 1) % 10, y)
print("ready", flush=True)
model = RobustClassifier(recipe(sys.argv[1]).with_epochs(12), validation_fraction=0.1, device="cpu")
model.fit(X, y, folder=sys.argv[2], resume=True).save(sys.argv[2])
"""


def start(name: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, name, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


def finish(name: str, folder: Path) -> RobustClassifier:
    process = start(name, folder)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return RobustClassifier.load(folder)


@pytest.mark.slow
def test_killed_at_random_points_it_ends_with_the_same_numbers(tmp_path: Path) -> None:
    name = "f-dividemix"
    whole = finish(name, tmp_path / "whole")
    chance = random.Random(int.from_bytes(os.urandom(4)))
    kills, folder = 0, tmp_path / "killed"
    for _ in range(3):
        process = start(name, folder)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.05, 1.2))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        kills += process.returncode == -signal.SIGKILL
    resumed = finish(name, folder)
    assert kills > 0
    assert resumed.history_ == whole.history_
    assert resumed.best_epoch_ == whole.best_epoch_
    for ours, theirs in zip(resumed.last_networks_, whole.last_networks_, strict=True):
        for a, b in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
            assert np.array_equal(a.numpy(), b.numpy())
    assert np.array_equal(resumed.verdict_.p_clean, whole.verdict_.p_clean)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        path.name for path in (tmp_path / "whole").iterdir()
    )


def test_ctrl_c_keeps_what_is_over_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "eigenclean", "train", "digits", "--out", str(tmp_path / "run")]
    options = ["--noise", "symmetric:0.4", "--epochs", "2000", "--device", "cpu"]
    process = subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        # Tests that run in the background of a shell ignore the signal, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    metrics = tmp_path / "run" / "metrics.jsonl"
    deadline = time.monotonic() + 60
    while not metrics.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "with --resume to go on" in err
    assert err.strip().splitlines()[-1] == "eigenclean: stopped"
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()
    done = len(metrics.read_text().splitlines())
    assert 1 <= done < 2000


TRAIN_IN_PROCESSES = """
import json, sys
import numpy as np, torch
from sklearn.datasets import load_digits
from eigenclean.nets import make_net
from eigenclean.train import recipe
from eigenclean.train.engine import Engine
from eigenclean.train.data.pool import Pool
torch.set_num_threads(1)
X, y = load_digits(return_X_y=True)
X, y = (X[:600] / 16).astype(np.float32), y[:600]
y = np.where(np.arange(600) % 3 == 0, (y + 1) % 10, y)
for name in sys.argv[2:]:
    pool = Pool.from_arrays(X, y, np.arange(10))
    chosen = recipe("standard").with_selector(name) if name == "aum" else recipe(name)
    engine = Engine(chosen.with_epochs(6), lambda: make_net("mlp", 64, 10, hidden=[32]), pool, device="cpu")
    engine.fit()
    if engine.is_main:
        kept = [state.trained_on.tolist() for state in engine.network_states]
        record = {"processes": engine.accelerator.num_processes, "kept": kept, "history": engine.history}
        with open(f"{sys.argv[1]}-{name}.json", "w") as file:
            json.dump(record, file)
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
"""


def train_in_processes(out: Path, n: int, names: list[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(n), "ACCELERATE_USE_CPU": "true"}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", TRAIN_IN_PROCESSES, str(out), *names],
            stderr=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT if n == 1 else {**ENVIRONMENT, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(n)
    ]
    for process in started:
        _, err = process.communicate(timeout=180)
        assert process.returncode == 0, err


@pytest.mark.slow
def test_two_processes_select_what_one_does(tmp_path: Path) -> None:
    names = ["fine", "co-teaching", "elr+fine", "aum"]
    for n in (1, 2):
        train_in_processes(tmp_path / str(n), n, names)
    for name in names:
        single, double = (json.loads((tmp_path / f"{n}-{name}.json").read_text()) for n in (1, 2))
        assert (single["processes"], double["processes"]) == (1, 2)
        assert single["kept"] == double["kept"], name
        for ours, theirs in zip(single["history"], double["history"], strict=True):
            assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-3, abs=1e-4)
            assert ours["kept_fraction"] == pytest.approx(theirs["kept_fraction"])
