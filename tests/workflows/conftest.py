"""A small run of `detect` that the workflows after it work on: its folder, its data and the right labels."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from eigenclean.arrays import Array
from eigenclean.noise import add_noise
from eigenclean.workflows import DetectRequest, run_detect
from eigenclean.workflows.detect import MethodOptions

N = 240


@pytest.fixture(scope="session")
def truth() -> Array:
    """The right labels of the data."""
    return np.arange(N) % 3


@pytest.fixture(scope="session")
def judged_data(tmp_path_factory: pytest.TempPathFactory, truth: Array) -> Path:
    """Three well separated classes with 20 % symmetric noise, texts, and ids that are strings; not to be changed.

    The verdict of FINE on them is in the folder ``run`` beside them.
    """
    folder = tmp_path_factory.mktemp("finished")
    np.savez(
        folder / "data.npz",
        features=np.random.default_rng(0).normal(size=(N, 5)) + 4 * np.eye(3, 5)[truth],
        labels=add_noise(truth, rate=0.2),
        ids=np.array([f"row{i}" for i in range(N)]),
        texts=np.array([f"text of {i}" for i in range(N)]),
    )
    run_detect(DetectRequest(str(folder / "data.npz"), folder / "run", MethodOptions("fine")))
    return folder / "data.npz"


@pytest.fixture
def finished(judged_data: Path, tmp_path: Path) -> Path:
    """A copy of the folder of the run, which a test may change."""
    return Path(shutil.copytree(judged_data.with_name("run"), tmp_path / "run"))
